// Times as people write them on a command line: 1500ms, 90s, 30m, 2h, 1d.

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds, or null for what is no time. */
export function parseDuration(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text.trim());
  return match ? Number(match[1]) * (UNITS[match[2] ?? ''] ?? Number.NaN) : null;
}
