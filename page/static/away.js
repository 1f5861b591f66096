// Says in one banner that the page's server does not answer, with the time of what is shown, whoever finds it out: the look at
// the frame or the stream of the page.

const away = new Set();
let updatedAt = Date.now();

const clock = (at) => new Date(at).toLocaleTimeString('en', { hourCycle: 'h23' });

/** `source` names who asks; the banner goes when all of them have an answer again. */
export function setAway(source, isAway) {
  if (isAway) away.add(source);
  else {
    away.delete(source);
    if (away.size === 0) updatedAt = Date.now();
  }
  document.body.toggleAttribute('data-stale', away.size > 0);
  const known = document.getElementById('page-away');
  if (away.size === 0) return known?.remove();
  const place = document.querySelector('.banners');
  if (known || !place) return;
  const [banner, title] = [document.createElement('div'), document.createElement('b')];
  banner.id = 'page-away';
  banner.className = 'banner fail';
  banner.setAttribute('role', 'alert');
  title.textContent = 'The page’s server isn’t responding.';
  banner.append(title, ` Last updated ${clock(updatedAt)}. Reconnecting automatically.`);
  place.prepend(banner);
}
