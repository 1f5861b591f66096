// A token endpoint whose refresh tokens rotate: one that was spent ends the grant, as RFC 9700
// advises. Access tokens are `access-N`, refresh tokens `refresh-N`.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export type TokenAnswer = { readonly status: number; readonly body: object };

export async function tokenEndpoint({
  expiresIn,
  before = () => undefined,
}: {
  /** Seconds. */
  readonly expiresIn?: number;
  /** Answers in its place, or does something before it answers. */
  readonly before?: (form: URLSearchParams) => TokenAnswer | undefined | Promise<TokenAnswer | undefined>;
} = {}) {
  const asked: { readonly form: URLSearchParams; readonly authorization: string | undefined }[] = [];
  let [count, isGone] = [1, false];
  const grant = (form: URLSearchParams): TokenAnswer => {
    if (isGone || form.get('refresh_token') !== `refresh-${count}`) {
      isGone = true;
      return { status: 400, body: { error: 'invalid_grant', error_description: 'the grant is revoked' } };
    }
    count += 1;
    const tokens = { access_token: `access-${count}`, refresh_token: `refresh-${count}`, token_type: 'Bearer' };
    return { status: 200, body: { ...tokens, ...(expiresIn !== undefined && { expires_in: expiresIn }) } };
  };
  const server = createServer((request, response) => {
    void (async () => {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part as Buffer);
      const form = new URLSearchParams(Buffer.concat(parts).toString());
      asked.push({ form, authorization: request.headers.authorization });
      const { status, body } = (await before(form)) ?? grant(form);
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/token`,
    asked,
    /** The access token that counts. */
    current: () => `access-${count}`,
    isGone: () => isGone,
  };
}
