// Tells whether a key is missing, so that the scripted model answers. It is apart from model-access
// so that a command can ask without loading the SDK.

export const SCRIPTED_NOTICE = 'scripted model — set ANTHROPIC_API_KEY for a real one';

/** Tells whether a worker with this environment would use the scripted model. */
export function isKeyless(env: Readonly<Record<string, string | undefined>>): boolean {
  return NAMES.every((name) => !env[name]?.trim());
}

const NAMES = ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_BASE_URL'];

/** Returns an environment in which a worker uses the scripted model. */
export function withoutKey<Env extends Readonly<Record<string, string | undefined>>>(env: Env): Env {
  return { ...env, ...Object.fromEntries(NAMES.map((name) => [name, undefined])) };
}
