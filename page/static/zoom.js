// Zooms strips to the clock: a drag over one of them shows that stretch of time in all that stand together, and `z` shows all of it again.

const WIDE = 1_000;
/** Pixels below which a drag is a click. */
const LEAST = 6;
/** The shortest stretch of the whole that is shown. */
const NARROWEST = 1 / 200;

/** The shown stretch of time of each group of strips, by its id; absent where all is shown. */
const zooms = new Map();
const groups = () => [...document.querySelectorAll('[data-moments]')];
const momentsOf = (group) => group.dataset.moments.split(' ').map(Number);
const stripsOf = (group) => [...group.querySelectorAll('svg.strip')];

/** The moment at a place from 0 to 1 of all. */
function momentAt(moments, place) {
  const at = Math.max(0, Math.min(1, place)) * (moments.length - 1);
  const [before, after] = [moments[Math.floor(at)], moments[Math.ceil(at)]];
  return before + (after - before) * (at - Math.floor(at));
}

function placeOf(moments, moment) {
  const after = moments.findIndex((one) => one >= moment);
  if (after < 0) return 1;
  if (after === 0) return 0;
  const [from, to] = [moments[after - 1], moments[after]];
  return (after - 1 + (moment - from) / (to - from)) / (moments.length - 1);
}

function show(group) {
  const moments = momentsOf(group);
  const zoom = zooms.get(group.id);
  const [from, to] = zoom ? zoom.map((moment) => placeOf(moments, moment)) : [0, 1];
  for (const svg of stripsOf(group)) {
    const { height } = svg.viewBox.baseVal;
    svg.setAttribute('viewBox', `${from * WIDE} 0 ${(to - from) * WIDE} ${height}`);
    // A part too short to be seen is drawn as wide as can be seen, and no wider when it is near.
    for (const part of svg.querySelectorAll('[data-wide]')) {
      part.dataset.least ??= part.getAttribute('width');
      part.setAttribute('width', String(Math.max(Number(part.dataset.wide), part.dataset.least * (to - from))));
    }
  }
  showTicks(group, moments, [from, to]);
  group.classList.toggle('zoomed', zoom !== undefined);
}

/** Distances of ticks, in milliseconds, that a person reads as round. */
const ROUND = [1, 2, 5, 10, 20, 50, 100, 200, 500, ...[1, 2, 5, 10, 15, 30].map((seconds) => seconds * 1_000)];
for (const minutes of [1, 2, 5, 10, 15, 30, 60, 120, 240, 360, 720, 1_440]) ROUND.push(minutes * 60_000);
const DAY = 86_400_000;
const MOST_TICKS = 6;
/** The least distance of ticks, as a share of the width. */
const APART = 0.09;

function tickText(moment, step, isLong) {
  const clock = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' };
  if (step < 60_000) clock.second = '2-digit';
  if (step < 1_000) clock.fractionalSecondDigits = step < 10 ? 3 : step < 100 ? 2 : 1;
  const day = isLong ? { month: 'short', day: 'numeric' } : {};
  return new Date(moment).toLocaleString('en', { ...day, ...clock });
}

/** Ticks at round moments of the person's clock. Where a scale leaves time out, those too near are left out. */
function showTicks(group, moments, [from, to]) {
  const axis = group.querySelector('.map-axis');
  if (!axis) return;
  const [first, last] = [momentAt(moments, from), momentAt(moments, to)];
  const span = last - first;
  const step = ROUND.find((each) => span / each <= MOST_TICKS) ?? Math.ceil(span / MOST_TICKS / DAY) * DAY;
  const offset = new Date(first).getTimezoneOffset() * 60_000;
  const ticks = [];
  for (let at = Math.ceil((first - offset) / step) * step + offset; at <= last; at += step) {
    const place = (placeOf(moments, at) - from) / (to - from);
    if (place - (ticks.at(-1)?.place ?? -1) >= APART) ticks.push({ at, place });
  }
  axis.replaceChildren(
    ...ticks.map(({ at, place }) => {
      const time = document.createElement('time');
      time.dateTime = new Date(at).toISOString();
      time.title = `${time.dateTime.slice(0, 19).replace('T', ' ')} UTC`;
      time.textContent = tickText(at, step, span > DAY);
      time.style.left = `${place * 100}%`;
      time.style.translate = `-${Math.round(place * 100)}%`;
      return time;
    }),
  );
  const lines = ticks.map(({ place }) => `M${(from + place * (to - from)) * WIDE} 0V20`).join('');
  for (const grid of group.querySelectorAll('path.grid')) grid.setAttribute('d', lines);
}

function showAll() {
  for (const group of groups()) show(group);
}
showAll();

/** The moment under the pointer. */
export function momentUnder(svg, x) {
  const group = svg.closest('[data-moments]');
  const { left, width } = svg.getBoundingClientRect();
  const { x: from, width: wide } = svg.viewBox.baseVal;
  return momentAt(momentsOf(group), (from + ((x - left) / width) * wide) / WIDE);
}

let drag = null;
document.addEventListener('pointerdown', (event) => {
  const svg = event.target.closest?.('[data-moments] svg.strip');
  if (svg && event.button === 0) drag = { svg, x: event.clientX, band: null };
});
document.addEventListener('pointermove', (event) => {
  if (!drag || Math.abs(event.clientX - drag.x) < LEAST) return;
  drag.band ??= bandOver(drag.svg.closest('[data-moments]'));
  const { left } = drag.band.parentElement.getBoundingClientRect();
  drag.band.style.left = `${Math.min(event.clientX, drag.x) - left}px`;
  drag.band.style.width = `${Math.abs(event.clientX - drag.x)}px`;
  event.preventDefault();
});
document.addEventListener('pointerup', (event) => {
  if (!drag) return;
  const { svg, x, band } = drag;
  drag = null;
  if (!band) return;
  band.remove();
  addEventListener('click', (click) => click.stopPropagation(), { capture: true, once: true });
  // A drag that ends elsewhere is followed by no click.
  setTimeout(() => dispatchEvent(new Event('click')));
  const group = svg.closest('[data-moments]');
  const moments = momentsOf(group);
  const [from, to] = [momentUnder(svg, Math.min(x, event.clientX)), momentUnder(svg, Math.max(x, event.clientX))];
  if (placeOf(moments, to) - placeOf(moments, from) < NARROWEST) return;
  zooms.set(group.id, [from, to]);
  show(group);
  document.dispatchEvent(new CustomEvent('perdure:changed'));
});
document.addEventListener('pointercancel', () => {
  drag?.band?.remove();
  drag = null;
});

function bandOver(group) {
  const band = document.createElement('i');
  band.className = 'zoom-band';
  group.append(band);
  return band;
}

/** Shows all again. Tells whether anything was zoomed. */
export function zoomOut() {
  const wasZoomed = zooms.size > 0;
  zooms.clear();
  showAll();
  if (wasZoomed) document.dispatchEvent(new CustomEvent('perdure:changed'));
  return wasZoomed;
}

document.addEventListener('click', (event) => {
  if (event.target.closest?.('[data-unzoom]')) zoomOut();
});
// What is drawn anew is drawn whole.
document.addEventListener('perdure:drawn', showAll);
