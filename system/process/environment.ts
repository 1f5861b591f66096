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

type EnvironmentOptions = {
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

/**
 * Names of variables by which programs of developers find their parts. They pass on to commands of
 * an agent: without them a command runs with another toolchain than the user's, or in the settings
 * of another cluster. Each says where programs, libraries, caches or settings lie, or which of
 * several is meant; none holds a key. A file that one of them names, such as that of KUBECONFIG,
 * can be read by commands anyway. What names a credential alone is left out
 * (GOOGLE_APPLICATION_CREDENTIALS, AWS_SHARED_CREDENTIALS_FILE, SSH_AUTH_SOCK), and so are
 * addresses, which may hold passwords, and caches outside those that commands have of their own
 * (GOCACHE, npm_config_cache).
 */
export const TOOLCHAIN_NAMES: readonly string[] = [
  ['VIRTUAL_ENV', 'CONDA_PREFIX', 'CONDA_DEFAULT_ENV', 'CONDA_EXE', 'CONDA_PYTHON_EXE', 'MAMBA_EXE'],
  ['MAMBA_ROOT_PREFIX', 'PYENV_ROOT', 'PYENV_VERSION', 'POETRY_HOME', 'UV_PYTHON', 'PYTHONPATH', 'PIPX_HOME'],
  ['NVM_DIR', 'NVM_BIN', 'FNM_DIR', 'VOLTA_HOME', 'PNPM_HOME', 'BUN_INSTALL', 'DENO_DIR', 'NODE_PATH'],
  ['ASDF_DIR', 'ASDF_DATA_DIR', 'MISE_DATA_DIR', 'SDKMAN_DIR', 'HOMEBREW_PREFIX', 'HOMEBREW_CELLAR', 'NIX_PATH'],
  ['NIX_PROFILES', 'RUSTUP_HOME', 'RUSTUP_TOOLCHAIN', 'CARGO_HOME', 'GOPATH', 'GOROOT', 'GOBIN', 'GOENV'],
  ['GOTOOLCHAIN', 'GOPRIVATE', 'JAVA_HOME', 'JDK_HOME', 'MAVEN_HOME', 'M2_HOME', 'GRADLE_HOME'],
  ['GRADLE_USER_HOME', 'SCALA_HOME', 'KOTLIN_HOME', 'CLASSPATH', 'ANDROID_HOME', 'ANDROID_SDK_ROOT'],
  ['ANDROID_NDK_HOME', 'FLUTTER_ROOT', 'DOTNET_ROOT', 'RBENV_ROOT', 'RBENV_VERSION', 'GEM_HOME', 'GEM_PATH'],
  ['BUNDLE_PATH', 'RUBYLIB', 'PERL5LIB', 'OPAM_SWITCH_PREFIX', 'STACK_ROOT', 'GHCUP_INSTALL_BASE_PREFIX'],
  ['CUDA_HOME', 'CUDA_PATH', 'PKG_CONFIG_PATH', 'CMAKE_PREFIX_PATH', 'VCPKG_ROOT'],
  ['XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'XDG_STATE_HOME', 'XDG_CONFIG_DIRS', 'XDG_DATA_DIRS'],
  ['KUBECONFIG', 'HELM_NAMESPACE', 'DOCKER_CONFIG', 'DOCKER_CONTEXT', 'AWS_PROFILE', 'AWS_REGION'],
  ['AWS_DEFAULT_REGION', 'AWS_CONFIG_FILE', 'CLOUDSDK_CONFIG', 'CLOUDSDK_ACTIVE_CONFIG_NAME', 'GOOGLE_CLOUD_PROJECT'],
  ['AZURE_CONFIG_DIR', 'TF_WORKSPACE', 'TF_DATA_DIR'],
].flat();

const AUTHOR = { NAME: 'Perdure', EMAIL: 'perdure@localhost' };

/**
 * The environment in which we run git: no configuration of the machine or of a person, no network,
 * no prompt, and an author of our own.
 */
export function gitEnvironment(): Readonly<Record<string, string>> {
  const people = ['AUTHOR', 'COMMITTER'].flatMap((who) =>
    Object.entries(AUTHOR).map(([what, value]) => [`GIT_${who}_${what}`, value] as const),
  );
  return {
    ...Object.fromEntries(people),
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_NO_LAZY_FETCH: '1',
    GIT_ALLOW_PROTOCOL: 'none',
    GIT_TERMINAL_PROMPT: '0',
    LC_ALL: 'C.UTF-8',
  };
}
