// Makes Node able to import a configuration in TypeScript: it may be by itself; else its types are removed in memory, by Node
// where it can, by the `typescript` package where that is installed.
import module, { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { ConfigProblem } from './config.ts';

/** Runs in the thread that loads modules, for files that are imported after it was registered. */
const HOOKS = `
import { readFile } from 'node:fs/promises';
import module from 'node:module';
let ts;
export async function initialize({ typescript }) {
  if (typescript !== null) ts = (await import(typescript)).default;
}
export async function load(url, context, next) {
  if (!/^file:[^?]*\\.ts$/.test(url.split('?')[0]) || url.includes('/node_modules/')) return next(url, context);
  const text = await readFile(new URL(url), 'utf8');
  return { format: 'module', shortCircuit: true, source: ts === undefined ? module.stripTypeScriptTypes(text) : transpiled(text) };
}
function transpiled(text) {
  const compilerOptions = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true };
  const { outputText, diagnostics } = ts.transpileModule(text, { compilerOptions, reportDiagnostics: true });
  const [first] = diagnostics ?? [];
  if (first === undefined) return outputText;
  const line = text.slice(0, first.start ?? 0).split('\\n').length;
  throw new SyntaxError(ts.flattenDiagnosticMessageText(first.messageText, ' ') + ' (line ' + line + ')');
}
`;

let registered = false;

/** Throws ConfigProblem when nothing here can read TypeScript. */
export function readTypeScript(file: string): void {
  // What Node says of itself: 'strip' or 'transform' when it imports such files as they are.
  const native = (process.features as { readonly typescript?: string | false }).typescript;
  if (registered || native === 'strip' || native === 'transform') return;
  const strips = 'stripTypeScriptTypes' in module;
  const typescript = strips ? null : findTypeScript(file);
  if (typescript === undefined)
    throw new ConfigProblem(
      `the configuration ${file} is TypeScript, which this Node (${process.version}) cannot load: ` +
        'write it as .mjs, install the typescript package beside it, or use Node 22.18 or newer',
    );
  module.register(`data:text/javascript,${encodeURIComponent(HOOKS)}`, { data: { typescript } });
  registered = true;
}

/** The URL of the package, as the configuration or we ourselves would import it. */
function findTypeScript(file: string): string | undefined {
  for (const from of [file, import.meta.url]) {
    try {
      return pathToFileURL(createRequire(from).resolve('typescript')).href;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error;
    }
  }
  return undefined;
}
