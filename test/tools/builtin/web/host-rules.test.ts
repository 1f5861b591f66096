// Permission rules about hosts: which one a call is about, and what a redirect needs.
import { expect, test } from 'vitest';
import { createWebFetchTool } from '../../../../tools/builtin/web-fetch.ts';
import { toHost } from '../../../../tools/builtin/web/addresses.ts';
import { prepareCall } from '../../../../activities/calls/prepare.ts';
import { createRegistry } from '../../../../tools/registry.ts';
import { ruleFor } from '../../../../client/sessions/always-allow.ts';
import { permissionsProblem } from '../../../../workflows/contract/permission-rules.ts';

test('rules name hosts; what leads elsewhere needs one of its own, whatever a hook or a person allowed (L55 L86)', () => {
  const registry = createRegistry([createWebFetchTool({})]);
  const decided = (permissions: object, url: string) => {
    const made = prepareCall(
      registry,
      { mode: 'default', cwd: '/', permissions },
      { name: 'web_fetch', input: { url } },
    );
    return made.kind === 'ready' ? made.permission.kind : made.text;
  };
  const allow = { allow: ['web_fetch(docs.example.org)', 'WebFetch(domain:*.Example.com)'] };
  expect(decided(allow, 'https://docs.example.org/a')).toBe('allow');
  expect(decided(allow, 'https://DOCS.example.org./a')).toBe('allow');
  expect(decided(allow, 'https://a.b.example.com/')).toBe('allow');
  for (const url of [
    'https://example.com/',
    'https://docs.example.org.evil.test/',
    'https://evil.test/docs.example.org',
  ])
    expect(decided(allow, url)).toBe('ask');
  expect(decided({ allow: ['web_fetch'], deny: ['web_fetch(*.test)'] }, 'https://evil.test/')).toBe('deny');
  expect(decided({ deny: ['web_fetch(127.*)'] }, 'http://0x7f.1/')).toBe('deny');
  expect(toHost(new URL('http://[::1]:80/'))).toBe('::1');
  const settings = { mode: 'default', cwd: '/', permissions: allow, hook: { kind: 'allow' } } as const;
  const made = prepareCall(registry, settings, { name: 'web_fetch', input: { url: 'https://other.test/' } });
  if (made.kind !== 'ready') throw new Error(made.text);
  expect([made.permission.kind, made.mayUse('docs.example.org'), made.mayUse('evil.test')]).toEqual([
    'allow',
    true,
    false,
  ]);
});

test('a rule that names no host is refused; to allow always proposes the host alone (L55 L86)', () => {
  expect(permissionsProblem({ allow: ['web_fetch(https://docs.example.org/)'] })).toContain(
    'names no host: write one without scheme, port and path, such as docs.example.org or *.example.org',
  );
  const input = { url: 'https://docs.example.org:8443/a?b' };
  expect(ruleFor({ tool: 'web_fetch', input, question: false as never })).toBe('web_fetch(docs.example.org)');
});
