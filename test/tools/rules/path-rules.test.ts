// Rules for paths, held against what the built-in file tools say of their inputs.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createBuiltinTools } from '../../../tools/builtin/builtin-tools.ts';
import { prepareCall } from '../../../activities/calls/prepare.ts';
import { toRelativeRules } from '../../../tools/rules/path-rules.ts';
import { createRegistry } from '../../../tools/registry.ts';
import { probeSandbox } from '../../../tools/sandbox.ts';
import type { PermissionRules } from '../../../workflows/contract/session.ts';
import { simpleTool, tempFolder } from '../support.ts';

const sandbox = await probeSandbox({ kinds: ['group'] });
const registry = createRegistry([
  ...createBuiltinTools({ sandbox }),
  simpleTool({ name: 'mcp__web', risk: 'external' }),
]);

/** With `src/out` → other, `in` → src, `src/away` → /etc, `src/none` → nothing. */
function workspace(): string {
  const cwd = join(tempFolder(), 'ws');
  for (const folder of ['src/deep', 'other', 'secrets']) mkdirSync(join(cwd, folder), { recursive: true });
  writeFileSync(join(cwd, 'secrets/.env'), '');
  symlinkSync('../other', join(cwd, 'src/out'));
  symlinkSync('src', join(cwd, 'in'));
  symlinkSync('/etc', join(cwd, 'src/away'));
  symlinkSync('nothing', join(cwd, 'src/none'));
  return cwd;
}

function judged(permissions: PermissionRules, cwd: string, name: string, input: object): string {
  const prepared = prepareCall(registry, { mode: 'default', permissions, cwd }, { name, input });
  return prepared.kind === 'ready' ? prepared.permission.kind : prepared.text;
}

test.each([
  ['src/**', 'src/a.ts', 'allow'],
  ['src/**', 'src/deep/new/a.ts', 'allow'],
  ['./src/', 'src/a.ts', 'allow'],
  ['src/**', '$CWD/src/a.ts', 'allow'],
  ['src/**', './src//deep/../a.ts', 'allow'],
  ['src/**', 'in/a.ts', 'allow'],
  ['src/*.ts', 'src/deep/a.ts', 'ask'],
  ['src/**', 'srcs/a.ts', 'ask'],
  ['src/**', 'src/../other/a.ts', 'ask'],
  ['src/**', 'src/out/a.ts', 'ask'],
  ['src/**', 'src/away/passwd', 'ask'],
  ['src/**', 'src/none', 'ask'],
  ['**', '.git/config', 'ask'],
  ['**', '../x', 'ask'],
  ['**', '', 'allow'],
  ['.', 'src/a.ts', 'allow'],
])('allow write(%s): %j → %s (L55)', (pattern, path, decision) => {
  const cwd = workspace();
  const input = { path: path.replace('$CWD', cwd), content: '' };
  expect(judged({ allow: [`write(${pattern})`] }, cwd, 'write', input)).toBe(decision);
  // A rule is for the tool it names.
  expect(judged({ allow: [`edit(${pattern})`] }, cwd, 'write', input)).toBe('ask');
});

// Folders of web frameworks look like patterns: a rule is also about the path that equals its text,
// accents composed or not.
test.each([
  ['app/[slug]/**', 'app/[slug]/page.tsx'],
  ['app/[...rest]/**', 'app/[...rest]/page.tsx'],
  ['app/[[...all]]/**', 'app/[[...all]]/page.tsx'],
  ['app/(auth)/**', 'app/(auth)/page.tsx'],
  ['{a,b}.md', '{a,b}.md'],
  ['caf\u00e9/**', 'cafe\u0301/a'],
  ['cafe\u0301/**', 'caf\u00e9/a'],
])('the rule write(%s) is about %j, whether it denies, asks or allows (L55)', (pattern, path) => {
  const cwd = workspace();
  for (const [kind, mode] of [
    ['deny', 'bypass'],
    ['ask', 'acceptEdits'],
    ['allow', 'default'],
  ] as const) {
    const prepared = prepareCall(
      registry,
      { mode, permissions: { [kind]: [`write(${pattern})`] }, cwd },
      { name: 'write', input: { path, content: '' } },
    );
    expect(prepared.kind === 'ready' && prepared.permission.kind, kind).toBe(kind);
  }
});

test.each([
  ['secrets/**', 'read', 'secrets/.env', 'deny'],
  ['secrets', 'read', 'secrets/.env', 'deny'],
  ['**/.env', 'read', 'src/../secrets/.env', 'deny'],
  ['other/**', 'read', 'src/out/a.ts', 'deny'],
  ['src/out/**', 'read', 'src/out/a.ts', 'deny'],
  ['.', 'read', 'secrets/.env', 'deny'],
  ['./', 'read', 'src/a.ts', 'deny'],
  ['.', 'grep', undefined, 'deny'],
  ['secrets/**', 'read', 'src/a.ts', 'allow'],
  ['**', 'read', 'perdure:result/x', 'allow'],
  ['secrets/**', 'grep', 'secrets', 'deny'],
  // What a search leaves out does not keep it from the rest.
  ['secrets/**', 'grep', 'secrets/deep', 'deny'],
  ['secrets/**', 'grep', undefined, 'allow'],
  ['secrets/**', 'glob', '.', 'allow'],
  ['.env', 'grep', undefined, 'allow'],
  ['**', 'grep', 'src', 'deny'],
  ['secrets/*.key', 'grep', 'secrets/deep', 'allow'],
  ['{secrets,other/deep}/**', 'grep', 'other', 'allow'],
  ['{secrets,other/deep}/**', 'grep', 'other/deep', 'deny'],
  ['{secrets,other/deep}/**', 'grep', 'src', 'allow'],
  ['src/{deep,away}', 'write', 'src/deep/a.ts', 'deny'],
  ['{src/deep,x}', 'write', 'src/deep/more/a.ts', 'deny'],
  ['src/{*.md,deep}', 'write', 'src/deep/a.ts', 'deny'],
  ['src/{*.md,deep}', 'write', 'src/a.ts', 'ask'],
  ['secrets/**', 'grep', 'src', 'allow'],
])('deny with pattern %s: %s of %s → %s (L55)', (pattern, tool, path, decision) => {
  const more = { read: {}, write: { content: '' } }[tool] ?? { pattern: 'x' };
  const input = { ...(path === undefined ? {} : { path }), ...more };
  expect(judged({ deny: [`${tool}(${pattern})`] }, workspace(), tool, input)).toBe(decision);
});

/**
 * A workspace beside the folders `lib` and `data`, both of the run; `in-lib` leads from the one to
 * the other.
 */
function withFolders(): { readonly cwd: string; readonly folders: readonly string[]; readonly root: string } {
  const root = tempFolder();
  for (const folder of ['ws/src', 'lib/src', 'lib/secrets', 'data']) mkdirSync(join(root, folder), { recursive: true });
  symlinkSync('../lib', join(root, 'ws/in-lib'));
  return { cwd: join(root, 'ws'), folders: [join(root, 'lib'), join(root, 'data')], root };
}

test.each([
  ['deny', 'read', 'secrets/**', '$ROOT/lib/secrets/key', 'deny'],
  ['deny', 'read', 'secrets', '$ROOT/data/secrets/key', 'deny'],
  ['deny', 'read', '**/.env', '$ROOT/lib/src/.env', 'deny'],
  ['deny', 'read', 'secrets/**', 'in-lib/secrets/key', 'deny'],
  ['deny', 'read', 'lib/**', '$ROOT/lib/src/a', 'allow'],
  ['deny', 'grep', 'secrets/**', '$ROOT/lib', 'allow'],
  ['deny', 'grep', 'secrets/**', '$ROOT/lib/secrets', 'deny'],
  ['ask', 'grep', 'secrets/**', '$ROOT/lib', 'ask'],
  ['deny', 'grep', 'secrets/**', '$ROOT/lib/src', 'allow'],
  ['ask', 'grep', 'secrets/**', '$ROOT', 'ask'],
  ['ask', 'write', 'src/**', '$ROOT/lib/src/a', 'ask'],
  ['deny', 'read', '/$ROOT/lib/secrets/**', '$ROOT/lib/secrets/key', 'deny'],
  ['deny', 'read', '/$ROOT/lib/secrets', 'in-lib/secrets/key', 'deny'],
  ['deny', 'read', '/$ROOT/ws/src/**', 'src/a', 'deny'],
  ['deny', 'read', '/$ROOT/lib/secrets/**', '$ROOT/data/secrets/key', 'allow'],
  ['deny', 'grep', '/$ROOT/lib/secrets/**', '$ROOT/lib', 'allow'],
  ['deny', 'grep', '/$ROOT/lib/secrets/**', '$ROOT/lib/secrets', 'deny'],
  ['deny', 'grep', '/$ROOT/lib/secrets/**', '$ROOT/data', 'allow'],
  ['allow', 'write', 'src/**', '$ROOT/lib/src/a', 'ask'],
  ['allow', 'write', '**', 'in-lib/src/a', 'ask'],
  ['allow', 'write', '/$ROOT/lib/**', '$ROOT/lib/src/a', 'allow'],
  ['allow', 'write', '/$ROOT/lib/**', 'in-lib/src/a', 'allow'],
  ['allow', 'write', '/$ROOT/lib/**', '$ROOT/data/a', 'ask'],
  ['allow', 'write', '/$ROOT/lib/**', '$ROOT/lib/../data/a', 'ask'],
  ['allow', 'write', '/$ROOT/lib/**', '$ROOT/lib/.git/config', 'ask'],
])('with folders beside the workspace, %s %s(%s): %s → %s (L55)', (list, tool, pattern, path, decision) => {
  const { cwd, folders, root } = withFolders();
  const more = { read: {}, write: { content: '' } }[tool] ?? { pattern: 'x' };
  const input = { path: path.replace('$ROOT', root), ...more };
  // What would be asked about is allowed by a rule beside, so that a rule that asks can be seen.
  const allow = list === 'allow' ? [] : [tool];
  const permissions = { allow, [list]: [`${tool}(${pattern.replace('$ROOT', root)})`] };
  const settings = { mode: 'default', permissions, cwd, folders } as const;
  const prepared = prepareCall(registry, settings, { name: tool, input });
  expect(prepared.kind === 'ready' ? prepared.permission.kind : prepared.text).toBe(decision);
});

test('who denies or asks about write means edit too; who allows it does not (L55)', () => {
  const edit = (permissions: PermissionRules): string =>
    judged(permissions, '/workspace', 'edit', { path: 'src/a.ts', old_string: 'a', new_string: 'b' });
  expect(edit({ allow: ['edit'], deny: ['write(src/**)'] })).toBe('deny');
  expect(edit({ allow: ['edit'], deny: ['write'] })).toBe('deny');
  expect(edit({ allow: ['edit'], ask: ['write(src/**)'] })).toBe('ask');
  expect(edit({ allow: ['edit'], deny: ['write(other/**)'] })).toBe('allow');
  expect(edit({ allow: ['write(src/**)'] })).toBe('ask');
  const written = { path: 'src/a.ts', content: '' };
  expect(judged({ allow: ['write'], deny: ['edit'] }, '/workspace', 'write', written)).toBe('allow');
});

test('rules name tools exactly, or by a glob (L55)', () => {
  const web = (permissions: PermissionRules): string => judged(permissions, '/workspace', 'mcp__web', {});
  expect(web({ allow: ['mcp__*'] })).toBe('allow');
  expect(web({ allow: ['*'] })).toBe('allow');
  expect(web({ allow: ['mcp__w', 'MCP__*', 'web'] })).toBe('ask');
  expect(web({ allow: ['*'], deny: ['mcp__*'] })).toBe('deny');
});

test('where a tool does not say what a pattern is about, it denies and allows nothing (L55)', () => {
  const web = (permissions: PermissionRules): string => judged(permissions, '/workspace', 'mcp__web', {});
  expect(web({ allow: ['mcp__web(example.com)'] })).toBe('ask');
  expect(web({ allow: ['*'], deny: ['mcp__web(example.com)'] })).toBe('deny');
});

test.each([
  ['read(//home/me/repo/secrets/**)', ['secrets/**']],
  ['write(//home/*/{repo,other}/.env)', ['.env/**']],
  ['read(//home/me)', ['**']],
  ['read(//home/me/repo)', ['**']],
  ['read(//home/*)', []],
  ['read(//home/me/repository/x)', []],
  ['read(//**/secrets)', ['**/secrets/**', 'secrets/**']],
  ['read(//home/**/repo/a)', ['**/repo/a/**', 'repo/a/**', 'a/**']],
  ['read(//home/me/repo/**)', ['**']],
  ['read(secrets/**)', []],
  ['bash(//home/me/repo/run)', []],
  ['write', []],
])('the rule %s is about %j in a copy of /home/me/repo (L55 L72)', (rule, relative) => {
  const tool = rule.split('(')[0];
  expect(toRelativeRules(rule, '/home/me/repo').toSorted()).toEqual(
    relative.map((glob) => `${tool}(${glob})`).toSorted(),
  );
});
