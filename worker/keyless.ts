// Tells whether a key is missing, so that the scripted model answers. It is apart from model-access
// so that a command can ask without loading the SDK.

export const SCRIPTED_NOTICE = 'scripted model — set ANTHROPIC_API_KEY for a real one';

/** Tells whether a worker with this environment would use the scripted model. */
export function isKeyless(env: Readonly<Record<string, string | undefined>>): boolean {
  const names = ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_BASE_URL'];
  return names.every((name) => !env[name]?.trim());
}
