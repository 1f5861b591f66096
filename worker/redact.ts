// Finds the secrets of a process, which are hidden in texts that others wrote.
import { createRedact, type Redact } from '../system/redact.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** Hides the secrets of a worker or a command with this environment. */
export function createRedactor(env: Env): Redact {
  return createRedact(secretsOf(env));
}

function secretsOf(env: Env): readonly string[] {
  const { ANTHROPIC_API_KEY: key = '', ANTHROPIC_AUTH_TOKEN: token = '', ANTHROPIC_BASE_URL: url = '' } = env;
  // The SDK sends these headers along.
  const headers = (env['ANTHROPIC_CUSTOM_HEADERS'] ?? '').split('\n').map((line) => line.slice(line.indexOf(':') + 1));
  const bare = headers.map((value) => value.trim().replace(/^(bearer|basic) /i, ''));
  const {
    PERDURE_LIVE: live = '',
    OTEL_EXPORTER_OTLP_HEADERS: all = '',
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: traces = '',
  } = env;
  const collectors = `${all},${traces}`
    .split(',')
    .map((pair) => decodePercent(pair.slice(pair.indexOf('=') + 1).trim()));
  const proxies = PROXIES.map((name) => passwordIn(withScheme(env[name]?.trim() ?? '')));
  return [key, token, ...bare, ...collectors, ...secretsInAddress(url.trim()), passwordIn(live), ...proxies].map(
    (secret) => secret.trim(),
  );
}

const PROXIES = ['https_proxy', 'http_proxy', 'all_proxy'].flatMap((name) => [name, name.toUpperCase()]);

/** Completes an address as curl reads it. */
function withScheme(proxy: string): string {
  return proxy.includes('://') ? proxy : `http://${proxy}`;
}

/** Returns the password alone: a user's name may be a word of any text. */
function passwordIn(address: string): string {
  return URL.canParse(address) ? decodePercent(new URL(address).password) : '';
}

/** Returns the secrets in an address; one that cannot be parsed counts as a whole. */
function secretsInAddress(address: string): readonly string[] {
  if (!URL.canParse(address)) return [address];
  const { username, password, searchParams, hash } = new URL(address);
  return [...[username, password, hash.slice(1)].map(decodePercent), ...searchParams.values()];
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
