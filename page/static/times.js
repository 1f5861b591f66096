// Moments relative to now, with the moment itself on hover.

const STEPS = [
  [60, 1, 's'],
  [3_600, 60, 'min'],
  [172_800, 3_600, 'h'],
  [Infinity, 86_400, 'd'],
];

function words(at, bare) {
  const seconds = Math.round((Date.now() - at) / 1_000);
  const far = Math.abs(seconds);
  if (far < 5) return 'now';
  const [, size, unit] = STEPS.find(([below]) => far < below);
  // What has passed is not told as more than it is; a deadline in 6 d 23 h is in 7 d.
  return seconds >= 0
    ? `${Math.floor(far / size)} ${unit}${bare ? '' : ' ago'}`
    : `in ${Math.round(far / size)} ${unit}`;
}

export function showTimes(root = document) {
  const times = root.matches?.('time[data-at]') ? [root] : root.querySelectorAll('time[data-at]');
  for (const time of times) {
    const text = words(Number(time.dataset.at), time.dataset.bare !== undefined);
    if (time.textContent !== text) time.textContent = text;
  }
}

showTimes();
setInterval(() => {
  if (!document.hidden) showTimes();
}, 5_000);
document.addEventListener('htmx:after:swap', () => showTimes());
