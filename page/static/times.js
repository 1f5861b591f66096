// Times by the clock of the person who looks, with UTC on hover: how long ago a moment was, or when. All of them change at one tick.

const STEPS = [
  [60, 1, 's'],
  [3_600, 60, 'min'],
  [172_800, 3_600, 'h'],
  [Infinity, 86_400, 'd'],
];

/** What is drawn between two ticks is as old as at the last one: ages next to each other agree. */
let now = Date.now();

const amount = (seconds, round) => {
  const [, size, unit] = STEPS.find(([below]) => seconds < below);
  return `${round(seconds / size)} ${unit}`;
};

function words(at, bare) {
  const seconds = Math.round((now - at) / 1_000);
  if (Math.abs(seconds) < 5) return 'now';
  // What has passed is not told as more than it is; a deadline in 6 d 23 h is in 7 d.
  return seconds >= 0 ? `${amount(seconds, Math.floor)}${bare ? '' : ' ago'}` : `in ${amount(-seconds, Math.round)}`;
}

/** "11:56" today, "Dec 6, 11:56" on another day, with the year in another year. */
function localTime(at) {
  const [date, today] = [new Date(at), new Date(now)];
  const clock = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' };
  if (date.toDateString() === today.toDateString()) return date.toLocaleTimeString('en', clock);
  const year = date.getFullYear() === today.getFullYear() ? {} : { year: 'numeric' };
  return date.toLocaleString('en', { month: 'short', day: 'numeric', ...year, ...clock });
}

function textOf({ dataset, textContent }) {
  if (dataset.local) return localTime(Number(dataset.local));
  if (dataset.at) return words(Number(dataset.at), dataset.bare !== undefined);
  if (dataset.since) return `· ${amount(Math.max(0, Math.round((now - dataset.since) / 1_000)), Math.floor)}`;
  return textContent;
}

export function showTimes(root = document) {
  const times = [
    ...(root.matches?.('time, [data-since]') ? [root] : []),
    ...root.querySelectorAll('time, [data-since]'),
  ];
  for (const time of times) {
    const text = textOf(time);
    if (time.textContent !== text) time.textContent = text;
  }
}

showTimes();
setInterval(() => {
  if (document.hidden) return;
  now = Date.now();
  showTimes();
}, 1_000);
document.addEventListener('htmx:after:swap', () => showTimes());
for (const name of ['perdure:changed', 'perdure:drawn']) document.addEventListener(name, () => showTimes());
