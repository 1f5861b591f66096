// Takes the secrets of a process out of a text that others wrote, in whatever spelling they come back: as they are, percent-encoded,
// JSON-escaped, in base64 at any offset. For texts that people read and the store keeps; what a model says in a reply is not touched (L16).
import type { Redact } from '../activities/text.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** Characters. A shorter one would also be found where it is no secret. */
const LEAST = 6;

const INSTEAD = '[redacted]';

/** JSON within JSON doubles a backslash each time. Bounded: a run of them must not be looked at again from each. */
const ESCAPE = String.raw`\\{1,8}`;

/** Hides the secrets of a worker or a command with this environment. */
export function redactor(env: Env): Redact {
  const spellings = secretsOf(env)
    .filter((secret) => secret.length >= LEAST)
    .flatMap((secret) => [secret, ...inBase64(secret)])
    // The longer one of two that begin alike goes first.
    .toSorted((one, other) => other.length - one.length);
  if (spellings.length === 0) return (text) => text;
  const any = new RegExp([...new Set(spellings)].map(inAnyEscape).join('|'), 'giu');
  return (text) => text.replace(any, INSTEAD);
}

function secretsOf(env: Env): readonly string[] {
  const { ANTHROPIC_API_KEY: key = '', ANTHROPIC_AUTH_TOKEN: token = '', ANTHROPIC_BASE_URL: url = '' } = env;
  // The SDK sends these along.
  const headers = (env['ANTHROPIC_CUSTOM_HEADERS'] ?? '').split('\n').map((line) => line.slice(line.indexOf(':') + 1));
  const bare = headers.map((value) => value.trim().replace(/^(bearer|basic) /i, ''));
  const {
    PERDURE_LIVE: live = '',
    OTEL_EXPORTER_OTLP_HEADERS: all = '',
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: traces = '',
  } = env;
  const collectors = `${all},${traces}`.split(',').map((pair) => decoded(pair.slice(pair.indexOf('=') + 1).trim()));
  return [key, token, ...bare, ...collectors, ...inAddress(url.trim()), passwordIn(live)].map((secret) =>
    secret.trim(),
  );
}

/** A user's name may be a word of any text. */
function passwordIn(address: string): string {
  return URL.canParse(address) ? decoded(new URL(address).password) : '';
}

/** Takes all of an address that cannot be read. */
function inAddress(address: string): readonly string[] {
  if (!URL.canParse(address)) return [address];
  const { username, password, searchParams, hash } = new URL(address);
  return [...[username, password, hash.slice(1)].map(decoded), ...searchParams.values()];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** As a part of a longer text in base64 it looks different at each of three offsets; letters that hold bits of its neighbours are left out. */
function inBase64(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  return [0, 1, 2].map((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .replaceAll('=', '');
    const whole = (offset + bytes.length) % 3 === 0;
    return encoded.slice(Math.ceil((offset * 8) / 6), whole ? undefined : -1);
  });
}

/** A pattern for the text with any of its characters escaped, as a URL or JSON would. */
function inAnyEscape(text: string): string {
  return Array.from(text, anyEscape).join('');
}

function anyEscape(character: string): string {
  const literal = character.replace(/[\\^$.*+?()[\]{}|/]/u, String.raw`\$&`);
  const percent = [...Buffer.from(character)].map((byte) => `%(?:25)?${hex(byte, 2)}`).join('');
  const units = Array.from({ length: character.length }, (_, at) => hex(character.charCodeAt(at), 4));
  const unicode = units.map((unit) => `${ESCAPE}u${unit}`).join('');
  return `(?:${[literal, percent, unicode, ...(others[character] ?? [])].join('|')})`;
}

/** Its other spellings: base64 for URLs, a blank in a query, JSON's short escapes. */
const others: Readonly<Record<string, readonly string[]>> = {
  '+': ['-'],
  '/': ['_', `${ESCAPE}/`],
  ' ': [String.raw`\+`],
  '"': [`${ESCAPE}"`],
  '\\': [String.raw`\\\\`],
};

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}
