// Checks what the environment says of the model API. It loads nothing: commands ask here before
// they start anything.
import { present } from '../workflows/contract/present.ts';
import { SetupProblem } from '../system/setup-problem.ts';

type ModelSettings = {
  readonly apiKey: string | null;
  readonly authToken: string | null;
  readonly baseURL?: string;
};

/** Throws SetupProblem for a key or an address that no request can be made with. */
export function modelSettings(env: Readonly<Record<string, string | undefined>>): ModelSettings {
  return { ...credentialOf(env), ...present({ baseURL: requireAddress(env['ANTHROPIC_BASE_URL']?.trim()) }) };
}

/**
 * Chooses the one credential that the SDK wants, which takes an empty one for one. With both set it
 * is the key, as the SDK itself would choose.
 */
function credentialOf(env: Readonly<Record<string, string | undefined>>): Omit<ModelSettings, 'baseURL'> {
  const key = requireSendable('ANTHROPIC_API_KEY', env['ANTHROPIC_API_KEY']?.trim());
  const token = requireSendable('ANTHROPIC_AUTH_TOKEN', env['ANTHROPIC_AUTH_TOKEN']?.trim());
  if (!key && token) return { apiKey: null, authToken: token };
  // A server of one's own may want no key.
  return { apiKey: key || 'none', authToken: null };
}

/**
 * Throws SetupProblem for a value that no header can carry: the SDK's failure would contain it, and
 * be stored with every run.
 */
function requireSendable(name: string, value: string | undefined): string | undefined {
  if (value === undefined || /^[\x21-\x7e]*$/.test(value)) return value;
  throw new SetupProblem(
    `${name} has a space, a line break or another character that no key has: set it to the key alone`,
  );
}

/**
 * Throws SetupProblem for an address that cannot be used, or has a password in it: it would be
 * stored with every failure.
 */
function requireAddress(url: string | undefined): string | undefined {
  if (url === undefined || url === '') return undefined;
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || !['http:', 'https:'].includes(parsed.protocol)) {
    throw new SetupProblem('ANTHROPIC_BASE_URL is not an http or https address: correct it or leave it out');
  }
  if (parsed.username !== '' || parsed.password !== '') {
    throw new SetupProblem('ANTHROPIC_BASE_URL has a name or password in it: give a key in ANTHROPIC_API_KEY instead');
  }
  return url;
}
