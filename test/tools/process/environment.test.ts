import { expect, test } from 'vitest';
import { childEnvironment } from '../../../system/process/environment.ts';

const secrets = {
  ANTHROPIC_API_KEY: 'canary',
  ANTHROPIC_AUTH_TOKEN: 'canary',
  TEMPORAL_API_KEY: 'canary',
  TEMPORAL_ADDRESS: 'canary',
  AWS_SECRET_ACCESS_KEY: 'canary',
  GITHUB_TOKEN: 'canary',
  NODE_OPTIONS: '--require=./canary.js',
  BASH_ENV: './canary.sh',
  LD_PRELOAD: './canary.so',
  'BASH_FUNC_ls%%': '() { canary; }',
};

test('a child gets the ordinary variables, its mark, and nothing else', () => {
  const ordinary = {
    PATH: '/bin',
    HOME: '/home/me',
    LANG: 'C.UTF-8',
    LC_ALL: 'C',
    TZ: 'UTC',
    TERM: 'xterm',
    PWD: '/elsewhere',
  };
  expect(childEnvironment({ ...secrets, ...ordinary }, { cwd: '/workspace', callId: 'abc' })).toEqual({
    ...ordinary,
    TERM: 'dumb',
    PWD: '/workspace',
    PERDURE_CALL: 'abc',
  });
});

test('a command reaches other machines as its worker does, and does not see what a proxy wants to know (X5)', () => {
  const given = {
    HTTPS_PROXY: 'http://user:can/ary@proxy.example:3128/',
    https_proxy: 'user:canary@proxy.example:3128',
    http_proxy: 'http://proxy.example:3128',
    ALL_PROXY: 'socks5://user:c@nary@proxy.example:1080',
    NO_PROXY: 'localhost,10.0.0.0/8',
  };
  const env = childEnvironment(given, { cwd: '/', callId: 'abc', set: { HTTP_PROXY: 'http://own@other:1' } });
  expect(env).toEqual({
    HTTPS_PROXY: 'http://proxy.example:3128/',
    https_proxy: 'proxy.example:3128',
    http_proxy: 'http://proxy.example:3128',
    HTTP_PROXY: 'http://own@other:1',
    ALL_PROXY: 'socks5://proxy.example:1080',
    NO_PROXY: 'localhost,10.0.0.0/8',
    TERM: 'dumb',
    PWD: '/',
    PERDURE_CALL: 'abc',
  });
});

test('what is named is passed on', () => {
  const env = childEnvironment({ ...secrets, CI: '1' }, { cwd: '/', callId: 'abc', pass: ['CI', 'ABSENT'] });
  expect(env).toEqual({ CI: '1', TERM: 'dumb', PWD: '/', PERDURE_CALL: 'abc' });
});
