// Checks cron expressions of five fields before the server sees them: its own answers are not
// written for people. Pure.

type FieldRules = {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  readonly names?: readonly string[];
};

const MONTHS = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ');
const WEEKDAYS = 'sun mon tue wed thu fri sat'.split(' ');
const DAYS_OF_MONTHS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;

const FIELDS: readonly FieldRules[] = [
  { name: 'minute', from: 0, to: 59 },
  { name: 'hour', from: 0, to: 23 },
  { name: 'day of the month', from: 1, to: 31 },
  { name: 'month', from: 1, to: 12, names: MONTHS },
  // 7 is Sunday, too.
  { name: 'day of the week', from: 0, to: 7, names: WEEKDAYS },
];

const SHORT: ReadonlyMap<string, string> = new Map([
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
  ['@monthly', '0 0 1 * *'],
  ['@weekly', '0 0 * * 0'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@hourly', '0 * * * *'],
]);
/** Characters. The server, its lists and the memo each keep the text; all values have fewer. */
const LONGEST = 1_000;
const EXAMPLE = 'give minute, hour, day of the month, month and day of the week, such as "0 6 * * 1"';

/**
 * Returns a sentence that says what is wrong with a cron expression, or undefined. `either`: a day
 * of the month or of the week is enough where both are named.
 */
export function cronProblem(cron: string, either = false): string | undefined {
  const subject = `the cron expression ${JSON.stringify(cron.slice(0, 80))}`;
  const text = cron.trim();
  if (text.length > LONGEST) return `${subject} has ${text.length} characters: give at most ${LONGEST}`;
  if (text.startsWith('@')) {
    if (SHORT.has(text)) return undefined;
    return `${subject} is not known: ${EXAMPLE}, or one of ${[...SHORT.keys()].join(', ')}`;
  }
  const parts = text === '' ? [] : text.split(/\s+/);
  if (/^(?:CRON_)?TZ=/i.test(text))
    return `${subject} begins with a time zone: leave that out there, and give it as the time zone of the schedule`;
  if (parts.length !== FIELDS.length) return `${subject} has ${parts.length} fields: ${EXAMPLE}`;
  const read = FIELDS.map((rules, at) => readField(rules, parts[at] ?? ''));
  const wrong = read.find((values) => typeof values === 'string');
  if (wrong !== undefined) return `${subject}: ${wrong}`;
  if (either && namesBothDays(cron)) return undefined;
  const why = daysProblem(parts, read as readonly ReadonlySet<number>[]);
  return why === undefined ? undefined : `${subject} ${why}`;
}

/**
 * The values at which a schedule fires; Sunday is 0. A day must be in both `days` and `weekdays`.
 */
export type CronTimes = Readonly<Record<'minutes' | 'hours' | 'days' | 'months' | 'weekdays', ReadonlySet<number>>>;

/** Reads an expression that has passed `cronProblem`. */
export function readCron(cron: string): CronTimes {
  const text = cron.trim();
  const parts = (SHORT.get(text) ?? text).split(/\s+/);
  const values = (at: number): ReadonlySet<number> => {
    const rules = FIELDS[at];
    const read = rules === undefined ? 'no field' : readField(rules, parts[at] ?? '');
    if (typeof read === 'string')
      throw new Error(`${JSON.stringify(cron.slice(0, 80))} is no cron expression: ${read}`);
    return read;
  };
  const weekdays = new Set([...values(4)].map((day) => day % 7));
  return { minutes: values(0), hours: values(1), days: values(2), months: values(3), weekdays };
}

/** Tells whether an expression of five fields names days of the month and of the week. */
export function namesBothDays(cron: string): boolean {
  const [, , monthDay = '', , weekDay = ''] = cron.trim().split(/\s+/);
  return !monthDay.startsWith('*') && !weekDay.startsWith('*');
}

function daysProblem(parts: readonly string[], read: readonly ReadonlySet<number>[]): string | undefined {
  const [, , days = new Set<number>(), months = new Set<number>()] = read;
  // Cron fires when either fits and Temporal when both do, so people would expect different days.
  if (namesBothDays(parts.join(' ')))
    return 'names days of the month and of the week: give one of them, and * for the other';
  const isThere = [...months].some((month) => Math.min(...days) <= (DAYS_OF_MONTHS[month - 1] ?? 0));
  return isThere ? undefined : 'names a day that none of its months has';
}

/** Returns the values of a field, or a sentence that says what is wrong. */
function readField(rules: FieldRules, field: string): ReadonlySet<number> | string {
  const values = new Set<number>();
  for (const part of field.split(',')) {
    const range = readRange(rules, part);
    if (typeof range === 'string') return range;
    for (let value = range.from; value <= range.to; value += range.step) values.add(value);
  }
  return values;
}

type Range = { readonly from: number; readonly to: number; readonly step: number };

function readRange(rules: FieldRules, part: string): Range | string {
  const { name, from: least, to: most } = rules;
  const quoted = JSON.stringify(part.slice(0, 20));
  const [, first = '', last, every] = /^(\*|\w+)(?:-(\w+))?(?:\/(\d{1,4}))?$/.exec(part) ?? [];
  if (first === '' || (first === '*' && last !== undefined))
    return `${quoted} is no ${name}: give a number, a list 1,3, a range 1-5, *, or a step such as */10`;
  const [from, to] = first === '*' ? [least, most] : [valueOf(rules, first), valueOf(rules, last ?? first)];
  if ([from, to].some((value) => !(value >= least && value <= most)))
    return `${quoted} is no ${name}: give ${least} to ${most}${rules.names ? `, or names such as ${rules.names[1]}` : ''}`;
  if (from > to) return `the range ${quoted} of the ${name} is the wrong way round: give the lower one first`;
  const step = every === undefined ? 1 : Number(every);
  if (step < 1) return `the step of ${quoted} is 0: give 1 or more`;
  // 5/10 begins at 5 and goes on to the end.
  return { from, to: every !== undefined && last === undefined && first !== '*' ? most : to, step };
}

function valueOf({ names = [] }: FieldRules, text: string): number {
  if (/^\d{1,4}$/.test(text)) return Number(text);
  const at = names.indexOf(text.toLowerCase());
  if (at < 0) return Number.NaN;
  return names === MONTHS ? at + 1 : at;
}

/** Returns a sentence that says what is wrong with a time zone, or undefined. */
export function timeZoneProblem(zone: string): string | undefined {
  // Node accepts an offset such as +02:00 and the server does not.
  if (/^[A-Za-z]/.test(zone) && resolveTimeZone(zone) !== undefined) return undefined;
  return `${JSON.stringify(zone.slice(0, 60))} is no time zone: give a name such as Europe/Berlin or UTC`;
}

/** Corrects the spelling: a server tells "europe/berlin" from "Europe/Berlin". */
export function asServersSpell(zone: string): string {
  const known = resolveTimeZone(zone) ?? zone;
  return known.toLowerCase() === zone.toLowerCase() ? known : zone;
}

function resolveTimeZone(timeZone: string): string | undefined {
  try {
    return Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}
