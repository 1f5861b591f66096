// What the environment says of the model API, checked. Loads nothing: commands ask here before they start anything.
import { SetupProblem } from './embedded/setup-problem.ts';

export type ModelSettings = {
  readonly apiKey: string | null;
  readonly authToken: string | null;
  readonly baseURL?: string;
};

/** Throws SetupProblem for a key or an address that no request can be made with. */
export function modelSettings(env: Readonly<Record<string, string | undefined>>): ModelSettings {
  const baseURL = address(env['ANTHROPIC_BASE_URL']?.trim());
  return { ...credential(env), ...(baseURL === undefined ? {} : { baseURL }) };
}

/** The SDK wants exactly one, and takes an empty one for one; with both set it is the key, as the SDK itself would choose. */
function credential(env: Readonly<Record<string, string | undefined>>): Omit<ModelSettings, 'baseURL'> {
  const key = sendable('ANTHROPIC_API_KEY', env['ANTHROPIC_API_KEY']?.trim());
  const token = sendable('ANTHROPIC_AUTH_TOKEN', env['ANTHROPIC_AUTH_TOKEN']?.trim());
  if (!key && token) return { apiKey: null, authToken: token };
  // A server of one's own may want no key.
  return { apiKey: key || 'none', authToken: null };
}

/** Of a header that cannot be sent, the failure has the value in it: it would be stored with every run. */
function sendable(name: string, value: string | undefined): string | undefined {
  if (value === undefined || /^[\x21-\x7e]*$/.test(value)) return value;
  throw new SetupProblem(`${name} has a space, a line end or a letter that no key has: set it to the key alone`);
}

/** As for a key: a password in it would be stored with every failure. */
function address(url: string | undefined): string | undefined {
  if (url === undefined || url === '') return undefined;
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || !['http:', 'https:'].includes(parsed.protocol)) {
    throw new SetupProblem('ANTHROPIC_BASE_URL is no http or https address: correct it or leave it out');
  }
  if (parsed.username !== '' || parsed.password !== '') {
    throw new SetupProblem('ANTHROPIC_BASE_URL has a name or password in it: give a key in ANTHROPIC_API_KEY instead');
  }
  return url;
}
