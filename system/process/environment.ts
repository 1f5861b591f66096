// Builds the environment of child processes from allow-lists, so that no key or token can leak by
// being forgotten.
import { createHash } from 'node:crypto';

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Marks every process of a call, so that what is left of it can be found by its environment (L40).
 */
export const CALL_VARIABLE = 'PERDURE_CALL';

const ORDINARY = /^(HOME|TMPDIR|LANG|LC_[A-Z]+|TZ)$/;
/** Passed on to commands of an agent and of hooks, in addition to the ordinary ones. */
const COMMAND = /^(PATH|USER|LOGNAME|SHELL|LANGUAGE|XDG_CACHE_HOME|SSL_CERT_FILE|SSL_CERT_DIR|NODE_EXTRA_CA_CERTS)$/;
/** The proxies by which a command reaches other machines. */
const PROXY = /^(https?|all|no)_proxy$/i;
/** Passed on to a download or a Go build, in addition to the ordinary ones. */
const NETWORK =
  /^((https?|no|all)_proxy|SSL_CERT_(FILE|DIR)|NETRC|XDG_[A-Z]+_HOME|GO(?!OS$|ARCH$|BIN$)[A-Z0-9_]+|CGO_[A-Z]+|CC)$/i;

export type EnvironmentOptions = {
  readonly cwd: string;
  /** The value of CALL_VARIABLE. */
  readonly callId: string;
  /** Further names to pass on. */
  readonly pass?: readonly string[];
  /** Variables to set; they replace the ones that are passed on. */
  readonly set?: Readonly<Record<string, string>> | undefined;
};

/** Builds the environment for a command of an agent or of a hook. */
export function childEnvironment(source: Environment, options: EnvironmentOptions): Record<string, string> {
  const { cwd, callId, pass = [], set = {} } = options;
  const passed = pickVariables(source, (name) => ORDINARY.test(name) || COMMAND.test(name) || pass.includes(name));
  return { ...passed, ...listProxyVariables(source), ...set, TERM: 'dumb', PWD: cwd, [CALL_VARIABLE]: callId };
}

/**
 * Strips name and password, which a command would show the model: where a proxy wants them,
 * `toolEnv` gives them.
 */
function listProxyVariables(source: Environment): Record<string, string> {
  const variables = pickVariables(source, (name) => PROXY.test(name));
  return Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [name, value.replace(/^([a-z][a-z0-9+.-]*:\/\/)?.*@/i, '$1')]),
  );
}

/**
 * Builds the environment for a program of Perdure's own. `path` must hold no folder that an agent
 * can put a program into.
 */
export function helperEnvironment(
  source: Environment,
  path: string,
  needs: 'nothing' | 'network',
): Record<string, string> {
  const allowed = (name: string): boolean => ORDINARY.test(name) || (needs === 'network' && NETWORK.test(name));
  return { ...pickVariables(source, allowed), PATH: path };
}

function pickVariables(source: Environment, allowed: (name: string) => boolean): Record<string, string> {
  return Object.fromEntries(
    Object.entries(source).filter((entry): entry is [string, string] => entry[1] !== undefined && allowed(entry[0])),
  );
}

export type GitSettings = readonly (readonly [key: string, value: string])[];

/**
 * Keeps git from reading the configuration of a bare repository that hides among the files of
 * another.
 */
const NO_HIDDEN_REPOSITORY: GitSettings = [['safe.bareRepository', 'explicit']];

/**
 * Adds settings, which go before any repository's own. Settings that the environment has already
 * stay.
 */
export function withGitSettings(
  env: Readonly<Record<string, string>>,
  settings: GitSettings = [],
): Record<string, string> {
  const first = Math.max(0, Math.trunc(Number(env['GIT_CONFIG_COUNT'] ?? 0)) || 0);
  const all = [...settings, ...NO_HIDDEN_REPOSITORY];
  const pairs = all.flatMap(([key, value], n) => [
    [`GIT_CONFIG_KEY_${first + n}`, key],
    [`GIT_CONFIG_VALUE_${first + n}`, value],
  ]);
  return { ...env, GIT_CONFIG_COUNT: String(first + all.length), ...Object.fromEntries(pairs) };
}

/**
 * Returns the name of a call in the store and in its processes' environment; as a hash it is safe
 * to use in both.
 */
export function callIdOf(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}
