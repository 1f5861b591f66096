// The TypeScript in the documents compiles against the types of the package.
import { join } from 'node:path';
import ts from 'typescript';
import { expect, test } from 'vitest';
import { blocksOf, pages, root, type Block } from '../support/documents.ts';

/**
 * The names that a page takes for granted before its examples: declared here where a block does not
 * declare it, and not written on the page.
 */
const PAGE_HAS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'docs/client.md': { sessions: `declare const sessions: import('perdure').PerdureClient;` },
  'docs/configuration.md': { query: `import { query, type OnApproval } from 'perdure';` },
  'docs/embedding.md': {
    connection: `declare const connection: import('@temporalio/worker').NativeConnection;`,
    activities: 'declare const activities: object;',
    dataConverter: `declare const dataConverter: import('@temporalio/common').DataConverter;`,
    z: `import { z } from 'zod';`,
  },
  'docs/from-the-agent-sdk.md': {
    query: `import { query } from 'perdure/agent-sdk';`,
    prompt: 'declare const prompt: string;',
    request: 'declare const request: { readonly headers: { get(name: string): string | null } };',
    message: `type Message = import('perdure/agent-sdk').SDKUserMessage;\ndeclare const message: Message;`,
    turn: 'declare const turn: { readonly id: ReturnType<typeof crypto.randomUUID> };',
    conversation: 'declare const conversation: { readonly session: string };',
    one: 'declare const one: (message: Message) => AsyncIterable<Message>;',
  },
  'docs/hooks.md': {
    readFile: `import { readFile } from 'node:fs/promises';`,
    judge: 'declare const judge: (transcript: string) => Promise<{ readonly block: string } | undefined>;',
  },
  'docs/managed.md': {
    client: `declare const client: import('@anthropic-ai/sdk').Anthropic;`,
    session: 'declare const session: { readonly id: string };',
    agent: 'declare const agent: { readonly id: string };',
    lookUp: 'declare const lookUp: (input: object) => Promise<string>;',
    token: 'declare const token: () => Promise<string>;',
  },
  'docs/mcp.md': { token: 'declare const token: () => Promise<string>;' },
  'docs/scripted-model.md': {
    fault: `import { fault, reply, startScriptedModel, toolUse } from 'perdure/testing';`,
  },
  'docs/testing.md': {
    reply: `import { reply } from 'perdure/testing';`,
    stock: `declare const stock: ReturnType<typeof import('perdure/tool').defineTool>;`,
    script: `const script = [reply('Twelve.')];`,
  },
  'docs/tools.md': { readFile: `import { readFile } from 'node:fs/promises';` },
};

const declares = (code: string, name: string): boolean =>
  new RegExp(String.raw`^(?:import|(?:export )?const) [^;=]*\b${name}\b`, 'm').test(code);

/** A block that is a part of an object becomes one. */
const PARTS: readonly (readonly [begins: RegExp, before: string, after: string])[] = [
  [/^stop: /, 'export const hooks: PerdureConfig["hooks"] = {', '};'],
  [/^call: /, 'export const part: { readonly call: ToolCall } = {', '};'],
];

const USED = `import type { PerdureConfig } from 'perdure/worker';
type ToolCall = () => Promise<import('perdure/tool').ToolOutput>;
`;

function sourceOf({ page, code }: Block): string {
  const [, before = '', after = ''] = PARTS.find(([begins]) => begins.test(code)) ?? [];
  const isConfig = code.startsWith('export default {');
  const whole = isConfig ? `${code.trimEnd().replace(/;$/, '')} satisfies PerdureConfig;` : code;
  const has = Object.entries(PAGE_HAS[page] ?? {}).flatMap(([name, line]) => (declares(code, name) ? [] : [line]));
  return `${USED}${has.join('\n')}\n${before}${whole}${after}\nexport {};\n`;
}

const blocks = pages.flatMap(blocksOf).filter(({ language }) => ['ts', 'js'].includes(language));

function problems(): readonly string[] {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), (path) => ts.sys.readFile(path)) as {
    readonly config: object;
  };
  const { options } = ts.parseJsonConfigFileContent(config, { ...ts.sys, readDirectory: () => [] }, root);
  // Most readers' projects are without it.
  options.exactOptionalPropertyTypes = false;
  const files = new Map(blocks.map((block, at) => [join(root, `test/docs/block-${at}.ts`), block]));
  const host = ts.createCompilerHost(options);
  const { fileExists, getSourceFile } = host;
  host.fileExists = (path) => files.has(path) || fileExists(path);
  host.getSourceFile = (path, version, ...more) => {
    const block = files.get(path);
    return block ? ts.createSourceFile(path, sourceOf(block), version) : getSourceFile(path, version, ...more);
  };
  // Of packages, the sources are read with the one that types are inferred with: it saves seconds.
  host.resolveModuleNameLiterals = (literals, from, _, given) =>
    literals.map(({ text }) =>
      files.has(from) || text.startsWith('.') || text === 'zod'
        ? ts.resolveModuleName(text, from, given, host)
        : { resolvedModule: undefined },
    );
  const program = ts.createProgram([...files.keys()], options, host);
  return [...files].flatMap(([path, { page, line }]) => {
    const source = program.getSourceFile(path);
    const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
    return found.map(({ messageText }) => `${page}:${line}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`);
  });
}

test('each block of TypeScript in the documents compiles against the types of the package (Q2)', () => {
  expect(blocks.length).toBeGreaterThan(20);
  expect(problems()).toEqual([]);
});
