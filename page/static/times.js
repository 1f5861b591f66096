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

/** "11:56" today, "Dec 6, 11:56" on another day, with the year in another year. */
function localTime(at) {
  const [date, now] = [new Date(at), new Date()];
  const clock = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' };
  if (date.toDateString() === now.toDateString()) return date.toLocaleTimeString('en', clock);
  const year = date.getFullYear() === now.getFullYear() ? {} : { year: 'numeric' };
  return date.toLocaleString('en', { month: 'short', day: 'numeric', ...year, ...clock });
}

export function showTimes(root = document) {
  const times = root.matches?.('time') ? [root] : root.querySelectorAll('time');
  for (const time of times) {
    const { dataset, textContent } = time;
    const text = dataset.local
      ? localTime(Number(dataset.local))
      : dataset.at
        ? words(Number(dataset.at), dataset.bare !== undefined)
        : textContent;
    if (textContent !== text) time.textContent = text;
  }
}

showTimes();
setInterval(() => {
  if (!document.hidden) showTimes();
}, 5_000);
document.addEventListener('htmx:after:swap', () => showTimes());
