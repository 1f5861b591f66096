// Builds the environment of child processes from allow-lists, so that no key or token can leak by
// being forgotten.
import { createHash } from 'node:crypto';

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Marks every process of a call, so that what is left of it can be found by its environment (L40).
 */
export const CALL_VARIABLE = 'PERDURE_CALL';

const ORDINARY = /^(HOME|TMPDIR|LANG|LC_[A-Z]+|TZ)$/;
/** Beside the ordinary ones, for commands of an agent and of hooks. */
const COMMAND = /^(PATH|USER|LOGNAME|SHELL|LANGUAGE|XDG_CACHE_HOME|SSL_CERT_FILE|SSL_CERT_DIR|NODE_EXTRA_CA_CERTS)$/;
/** How a command reaches other machines. */
const PROXY = /^(https?|all|no)_proxy$/i;
/** Beside the ordinary ones, for a download or a Go build. */
const NETWORK =
  /^((https?|no|all)_proxy|SSL_CERT_(FILE|DIR)|NETRC|XDG_[A-Z]+_HOME|GO(?!OS$|ARCH$|BIN$)[A-Z0-9_]+|CGO_[A-Z]+|CC)$/i;

export type EnvironmentOptions = {
  readonly cwd: string;
  /** The call's, for CALL_VARIABLE. */
  readonly callId: string;
  /** Names to pass on besides the allowed ones. */
  readonly pass?: readonly string[];
  /** Set beside them, and instead. */
  readonly set?: Readonly<Record<string, string>> | undefined;
};

/** For a command of an agent or of a hook. */
export function childEnvironment(source: Environment, options: EnvironmentOptions): Record<string, string> {
  const { cwd, callId, pass = [], set = {} } = options;
  const passed = chosen(source, (name) => ORDINARY.test(name) || COMMAND.test(name) || pass.includes(name));
  return { ...passed, ...proxies(source), ...set, TERM: 'dumb', PWD: cwd, [CALL_VARIABLE]: callId };
}

/**
 * Without name and password, which a command would show the model: where a proxy wants them,
 * `toolEnv` gives them.
 */
function proxies(source: Environment): Record<string, string> {
  const given = chosen(source, (name) => PROXY.test(name));
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, value.replace(/^([a-z][a-z0-9+.-]*:\/\/)?.*@/i, '$1')]),
  );
}

/** For a program of Perdure's own. Its PATH is one that no agent can put a program into. */
export function helperEnvironment(
  source: Environment,
  path: string,
  needs: 'nothing' | 'network',
): Record<string, string> {
  const allowed = (name: string): boolean => ORDINARY.test(name) || (needs === 'network' && NETWORK.test(name));
  return { ...chosen(source, allowed), PATH: path };
}

function chosen(source: Environment, allowed: (name: string) => boolean): Record<string, string> {
  return Object.fromEntries(
    Object.entries(source).filter((entry): entry is [string, string] => entry[1] !== undefined && allowed(entry[0])),
  );
}

export type GitSettings = readonly (readonly [key: string, value: string])[];

/**
 * A folder that looks like a repository, put among the files of another, would bring its own
 * configuration.
 */
const NO_HIDDEN_REPOSITORY: GitSettings = [['safe.bareRepository', 'explicit']];

/** They go before any repository's own. What the environment sets already stays. */
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
 * The name of a call in the store and in its processes' environment: a key of ours holds no
 * surprise for either.
 */
export function callIdOf(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}
