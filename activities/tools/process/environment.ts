// What a child process gets to see of our environment: an allow-list, so that no key or token can leak by being forgotten.

/** Marks every process of a call, so that what is left of it can be found by its environment (L40). */
export const CALL_VARIABLE = 'PERDURE_CALL';

const ALLOWED = new Set([
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'LANG',
  'LANGUAGE',
  'TZ',
  'TMPDIR',
  'XDG_CACHE_HOME',
  'XDG_RUNTIME_DIR',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'NODE_EXTRA_CA_CERTS',
]);

export type EnvironmentOptions = {
  readonly cwd: string;
  /** Of the call, for CALL_VARIABLE. */
  readonly callId: string;
  /** Names to pass on besides the allowed ones. */
  readonly pass?: readonly string[];
};

export function childEnvironment(source: NodeJS.ProcessEnv, options: EnvironmentOptions): Record<string, string> {
  const passed = Object.entries(source).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined &&
      (ALLOWED.has(entry[0]) || entry[0].startsWith('LC_') || (options.pass ?? []).includes(entry[0])),
  );
  return {
    ...Object.fromEntries(passed),
    TERM: 'dumb',
    PWD: options.cwd,
    [CALL_VARIABLE]: options.callId,
  };
}
