// Marks answers that refuse the key of a worker with the variable that it came from: the server's own
// words say nothing that a person could look for.
import type { ClientOptions } from '@anthropic-ai/sdk';
import { CREDENTIAL_HEADER } from '../system/network.ts';

type Fetch = NonNullable<ClientOptions['fetch']>;
type Credential = { readonly apiKey: string | null; readonly authToken: string | null };

/** A header of that name from a server is removed. */
export function nameCredential(fetch: Fetch, { apiKey, authToken }: Credential): Fetch {
  const name = authToken !== null ? 'ANTHROPIC_AUTH_TOKEN' : apiKey === 'none' ? '' : 'ANTHROPIC_API_KEY';
  return async (input, init) => {
    const response = await fetch(input, init);
    const { status, statusText, body } = response;
    if (status !== 401 && !response.headers.has(CREDENTIAL_HEADER)) return response;
    const headers = new Headers(response.headers);
    headers.delete(CREDENTIAL_HEADER);
    const { host } = new URL(input instanceof Request ? input.url : input);
    if (status === 401) headers.set(CREDENTIAL_HEADER, `${name}@${host}`);
    return new Response(body, { status, statusText, headers });
  };
}
