// Formats times, money and sizes for people, and parses times that people write.

/** Formats `ms` milliseconds briefly: 340 ms, 4.2 s, 3 min 20 s, 2 h 5 min, 3 d. */
export function shortTime(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  const seconds = Math.floor(ms / 1_000);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return withRest(minutes, 'min', seconds % 60, 's');
  const hours = Math.floor(minutes / 60);
  return hours < 48
    ? withRest(hours, 'h', minutes % 60, 'min')
    : withRest(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

function withRest(whole: number, unit: string, rest: number, small: string): string {
  return rest === 0 ? `${whole} ${unit}` : `${whole} ${unit} ${rest} ${small}`;
}

/** Formats US dollars; null means that some price is not known. */
export function formatMoney(usd: number | null): string {
  if (usd === null) return 'cost unknown';
  return usd === 0 ? '$0' : usd < 0.01 ? `$${usd.toFixed(4)}` : `$${usd.toFixed(2)}`;
}

export function formatCount(n: number, one: string, many = `${one}s`): string {
  return `${n.toLocaleString('en')} ${n === 1 ? one : many}`;
}

/** Formats an age in whole units of one kind. */
export function shortAge(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  return seconds < 60 ? `${seconds} s` : shortTime(seconds * 1_000).replace(/^(\d+ \w+) .*/, '$1');
}

/** Formats a number of tokens: 900 tokens, 12,400 tokens. */
export function formatTokens(n: number): string {
  return `${n.toLocaleString('en')} ${n === 1 ? 'token' : 'tokens'}`;
}

/** Formats milliseconds since the epoch: 2026-11-29 14:03:20 UTC. */
export function formatMoment(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? 'an unknown time' : `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** Formats bytes in decimal units: 900 bytes, 12.4 KB, 3.1 MB, 2.0 GB. */
export function formatSize(bytes: number): string {
  if (bytes < 1_000) return formatCount(bytes, 'byte');
  const [divisor, unit] = bytes < 1e6 ? [1e3, 'KB'] : bytes < 1e9 ? [1e6, 'MB'] : [1e9, 'GB'];
  return `${(bytes / divisor).toFixed(1)} ${unit}`;
}

/** Milliseconds of each unit that people write on a command line: 1500ms, 90s, 30m, 2h, 1d. */
const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Returns milliseconds, or null for a text that is not a time. */
export function parseDuration(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text.trim());
  return match ? Number(match[1]) * (UNITS[match[2] ?? ''] ?? Number.NaN) : null;
}
