// Which user opened a connection, by what the kernel says.
import { createServer, connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { isOwnPeer, knowsPeers, userOf } from '../../page/hosting/peer-user.ts';

const row = (from: string, to: string, user: number, state = '01'): string =>
  `   1: ${from} ${to} ${state} 00000000:00000000 02:00000A2B 00000000  ${user}        0 85762 2 0000 20 4 30 10 -1`;
const peer = { remoteAddress: '127.0.0.1', remotePort: 0xb60d, localPort: 0x1f90 };

test.each([
  ['a connection of IPv4', row('0100007F:B60D', '0100007F:1F90', 1000), 1000],
  [
    'one of a socket for both',
    row('0000000000000000FFFF00000100007F:B60D', '0000000000000000FFFF00000100007F:1F90', 7),
    7,
  ],
  ['one of IPv6', row('00000000000000000000000001000000:B60D', '00000000000000000000000001000000:1F90', 9), 9],
  ['the end that is ours', row('0100007F:1F90', '0100007F:B60D', 1000), null],
  ['one from another machine', row('0A00007F:B60D', '0A000001:1F90', 1000), null],
  ['one that waits to be closed', row('0100007F:B60D', '0100007F:1F90', 0, '06'), null],
  [
    'two of one pair of ports',
    [1, 2].map((user) => row(`0${user}00007F:B60D`, '0100007F:1F90', user)).join('\n'),
    null,
  ],
  ['nothing', '', null],
])('%s: the user is %s', (_, tables, user) => {
  expect(userOf(peer, tables)).toBe(user);
});

test('a connection that does not come from this machine is of no user', () => {
  const tables = row('0100007F:B60D', '0100007F:1F90', 1000);
  expect(userOf({ ...peer, remoteAddress: '10.0.0.7' }, tables)).toBeNull();
});

test.runIf(process.platform === 'linux').each(['127.0.0.1', '::1'])(
  'the kernel tells that a connection to %s is this user’s own',
  async (host) => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '::', resolve));
    onTestFinished(() => void server.close());
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const client = connect({ host, port: port ?? 0 });
    const [socket] = (await once(server, 'connection')) as [Socket];
    onTestFinished(() => [client, socket].forEach((one) => one.destroy()));
    expect([knowsPeers(), isOwnPeer(socket), isOwnPeer(undefined)]).toEqual([true, true, false]);
  },
);
