// Runs a TypeScript file of this repository as a `node` process of its own: it and what it imports,
// as JavaScript in `dist` below the package's manifest.
import { type ChildProcess, spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { onTestFinished } from 'vitest';
import ts from 'typescript';
import { tempDir } from './temp-dir.ts';

const root = resolve(import.meta.dirname, '../..');
const options: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.ESNext,
  rewriteRelativeImportExtensions: true,
  verbatimModuleSyntax: true,
};

/** What is no TypeScript, and data: by their paths beside whoever imports, starts or reads them. */
const BESIDE =
  /(?:from ['"]|new URL\(['"])(\.[^'"]+\.[cm]js)['"]|(?:require|createRequire\(import\.meta\.url\))\(['"](\.\/[^'"]+\.json)['"]\)/g;

/** `file` is relative to the repository. Returns the path of the script to give to node. */
export function compiled(file: string): string {
  const folder = tempDir();
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  copyFileSync(join(root, 'package.json'), join(folder, 'package.json'));
  const out = join(folder, 'dist');
  const done = new Set<string>();
  const compile = (source: string): void => {
    if (done.has(source)) return;
    done.add(source);
    const { outputText } = ts.transpileModule(readFileSync(source, 'utf8'), { compilerOptions: options });
    const target = join(out, relative(root, source)).replace(/\.ts$/, '.js');
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, outputText);
    copyBeside(outputText, dirname(source), dirname(target));
    for (const [, imported] of outputText.matchAll(/(?:from|import) ['"](\.[^'"]+)\.js['"]/g)) {
      compile(resolve(dirname(source), `${imported}.ts`));
    }
  };
  compile(join(root, file));
  return join(out, file).replace(/\.ts$/, '.js');
}

function copyBeside(text: string, from: string, to: string): void {
  for (const [, program, data] of text.matchAll(BESIDE)) {
    const beside = program ?? data ?? '';
    const [source, target] = [resolve(from, beside), resolve(to, beside)];
    mkdirSync(dirname(target), { recursive: true });
    copyFileSync(source, target);
    if (program !== undefined) copyBeside(readFileSync(source, 'utf8'), dirname(source), dirname(target));
  }
}

/** A process that is gone when the test is over. */
export function startNode(script: string, ...args: string[]): ChildProcess {
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

export async function outputOf(child: ChildProcess): Promise<string[]> {
  let text = '';
  for await (const chunk of child.stdout ?? []) text += String(chunk);
  return text.split('\n').slice(0, -1);
}
