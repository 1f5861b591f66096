// Moments relative to now, with the moment itself on hover.

const STEPS = [
  [60, 1, 's'],
  [3_600, 60, 'min'],
  [172_800, 3_600, 'h'],
  [Infinity, 86_400, 'd'],
];

function words(at) {
  const seconds = Math.round((Date.now() - at) / 1_000);
  const far = Math.abs(seconds);
  if (far < 5) return 'now';
  const [, size, unit] = STEPS.find(([below]) => far < below);
  const amount = `${Math.floor(far / size)} ${unit}`;
  return seconds >= 0 ? `${amount} ago` : `in ${amount}`;
}

export function showTimes(root = document) {
  const times = root.matches?.('time[data-at]') ? [root] : root.querySelectorAll('time[data-at]');
  for (const time of times) {
    const text = words(Number(time.dataset.at));
    if (time.textContent !== text) time.textContent = text;
  }
}

showTimes();
setInterval(() => {
  if (!document.hidden) showTimes();
}, 5_000);
document.addEventListener('htmx:after:swap', () => showTimes());
