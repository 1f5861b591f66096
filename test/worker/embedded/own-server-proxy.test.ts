// A proxy of the environment is not asked for a Temporal server of this machine, whatever NO_PROXY
// says.
import { expect, onTestFinished, test, vi } from 'vitest';
import { connectClient } from '../../../connection/connect-client.ts';
import { startConnectProxy } from '../../support/connect-proxy.ts';

test.each(['grpc_proxy', 'https_proxy', 'http_proxy'])('%s does not lead to our own server (X5)', async (name) => {
  const proxy = await startConnectProxy({ answer: 403 });
  onTestFinished(() => proxy.close());
  vi.stubEnv(name, `http://${proxy.at}`);
  vi.stubEnv('no_proxy', 'x.example');
  onTestFinished(() => void vi.unstubAllEnvs());
  // Nothing listens there: what counts is who was asked for it.
  await expect(connectClient({ address: '127.0.0.1:9', namespace: 'default' })).rejects.toThrow(
    'nothing listens there',
  );
  expect(proxy.asked).toEqual([]);
});
