// Describes the network for people: which proxy an address is asked through, and what is wrong with
// the settings.
import { SetupProblem } from '../../system/setup-problem.ts';
import { extraCertificatesProblem, listTrustedCertificates } from './certificates.ts';
import { hostOf, isThisMachine, readProxyRules } from './proxy-rules.ts';

type Env = Readonly<Record<string, string | undefined>>;

export type NetworkFinding = { readonly name: string; readonly fine: boolean; readonly found: string };

/** A destination: what is reached, and where. */
export type Destination = { readonly what: string; readonly address: string };

/** Returns no findings without a proxy or certificates of one's own. */
export function describeNetwork(env: Env, destinations: readonly Destination[]): readonly NetworkFinding[] {
  try {
    const routes = destinations.flatMap(({ what, address }) => {
      const route = URL.canParse(address) ? describeRoute(env, address) : undefined;
      return route === undefined ? [] : [`${what} at ${route}`];
    });
    const extra = extraCertificatesProblem(env);
    listTrustedCertificates(env);
    return [
      ...[...routes, ...describeWebFetch(env)].map((found) => ({ name: 'proxy', fine: true, found })),
      ...(extra === undefined ? [] : [{ name: 'certificates', fine: false, found: extra }]),
    ];
  } catch (error) {
    if (!(error instanceof SetupProblem)) throw error;
    return [{ name: 'network', fine: false, found: error.message }];
  }
}

/** Describes the ways of web_fetch, which may be asked for any address. */
function describeWebFetch(env: Env): readonly string[] {
  const { proxies, proxyFor } = readProxyRules(env);
  if (proxies.length === 0) return [];
  const ways = ['https', 'http'].map((scheme) => {
    const proxy = proxyFor(new URL(`${scheme}://any.example`));
    return `${scheme} ${proxy === null ? 'directly' : `through the proxy ${proxy.label} (${proxy.by})`}`;
  });
  return [`pages that web_fetch fetches: ${ways.join(', ')}`];
}

/**
 * Returns a line for people: which proxy an address is asked through, or that it is reached
 * directly though proxies are set. Undefined without any proxy.
 */
export function describeRoute(env: Env, address: string): string | undefined {
  const { proxies, proxyFor } = readProxyRules(env);
  if (proxies.length === 0) return undefined;
  const url = new URL(address);
  const proxy = proxyFor(url);
  if (proxy) return `${url.host} through the proxy ${proxy.label} (${proxy.by})`;
  return `${url.host} directly, ${isThisMachine(hostOf(url)) ? 'for it is this machine' : 'as NO_PROXY says, or for want of a proxy for it'}`;
}
