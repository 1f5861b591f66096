// Names of variables by which programs of developers find their parts. They pass on to commands of
// an agent: without them a command runs with another toolchain than the user's, or in the settings
// of another cluster.

/**
 * Each says where programs, libraries, caches or settings lie, or which of several is meant; none
 * holds a key. A file that one of them names, such as that of KUBECONFIG, can be read by commands
 * anyway. What names a credential alone is left out (GOOGLE_APPLICATION_CREDENTIALS,
 * AWS_SHARED_CREDENTIALS_FILE, SSH_AUTH_SOCK), and so are addresses, which may hold passwords, and
 * caches outside those that commands have of their own (GOCACHE, npm_config_cache).
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
