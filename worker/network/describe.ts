// What people are told of the network: which proxy an address is asked through, and what is wrong with what is named.
import { SetupProblem } from '../setup-problem.ts';
import { extraProblem, trustedCertificates } from './certificates.ts';
import { hostOf, isThisMachine, readProxyRules } from './proxy-rules.ts';

type Env = Readonly<Record<string, string | undefined>>;

export type Finding = { readonly name: string; readonly fine: boolean; readonly found: string };

/** Nothing without a proxy or certificates of one's own. `address`: the model's; absent for none. */
export function describeNetwork(env: Env, address: string | undefined): readonly Finding[] {
  try {
    const route = address === undefined ? undefined : describeRoute(env, address);
    const extra = extraProblem(env);
    trustedCertificates(env);
    const others = 'MCP servers, web_fetch, buckets, traces and Temporal: directly';
    return [
      ...(route === undefined ? [] : [{ name: 'proxy', fine: true, found: `${route}; ${others}` }]),
      ...(extra === undefined ? [] : [{ name: 'certificates', fine: false, found: extra }]),
    ];
  } catch (error) {
    if (!(error instanceof SetupProblem)) throw error;
    return [{ name: 'network', fine: false, found: error.message }];
  }
}

/** A line for people: what an address is asked through, or that it is reached directly though there are proxies. Undefined without any. */
export function describeRoute(env: Env, address: string): string | undefined {
  const { proxies, proxyFor } = readProxyRules(env);
  if (proxies.length === 0) return undefined;
  const url = new URL(address);
  const proxy = proxyFor(url);
  if (proxy) return `${url.host} through the proxy ${proxy.shown} (${proxy.by})`;
  return `${url.host} directly, ${isThisMachine(hostOf(url)) ? 'for it is this machine' : 'as NO_PROXY says, or for want of a proxy for it'}`;
}
