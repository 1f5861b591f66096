// The environment of the programs started here: an allow-list, so that no API key or TEMPORAL_* setting reaches them.
import type { Env } from './data-folder.ts';

const common = /^(PATH|HOME|TMPDIR|LANG|LC_ALL|TZ)$/;
const network =
  /^((https?|no|all)_proxy|SSL_CERT_(FILE|DIR)|NETRC|XDG_[A-Z]+_HOME|GO(?!OS$|ARCH$|BIN$)[A-Z0-9_]+|CGO_[A-Z]+|CC)$/i;

/** `network`: also what a download or a Go build needs, proxies included. */
export function childEnv(env: Env, needs: 'nothing' | 'network' = 'nothing'): Record<string, string> {
  const allowed = (name: string) => common.test(name) || (needs === 'network' && network.test(name));
  return Object.fromEntries(
    Object.entries(env).filter((pair): pair is [string, string] => pair[1] !== undefined && allowed(pair[0])),
  );
}
