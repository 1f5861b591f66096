// Makes one workflow bundle of the user's module and ours. An entry that requires both is written
// where no command of an agent writes, and the SDK bundles it.
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BundleOptions, NativeConnection, type WorkerOptions } from '@temporalio/worker';
import { codeOf } from '../../system/text.ts';
import { WORKFLOW_TYPE } from '../../workflows/contract/session.ts';
import { pathOfBuiltFile } from '../../system/process/places.ts';
import { ConfigProblem } from '../config/config.ts';
import { cacheFolderOf, type Env } from '../../connection/data-folder.ts';

const ownFile = (name: string): string => pathOfBuiltFile(`workflows/${name}`);

/**
 * Returns the options with our entry. `cwd` is the workspace of agents that name none. The entry is
 * removed when the process ends.
 */
export function withAgents(options: BundleOptions, cwd: string | undefined, env: Env): BundleOptions {
  const { workflowsPath, workflowInterceptorModules = [], webpackConfigHook = (config) => config } = options;
  const userModule = resolve(workflowsPath.startsWith('file:') ? fileURLToPath(workflowsPath) : workflowsPath);
  const packages = packagesOf(userModule);
  const entries = join(cacheFolderOf(env), 'bundle');
  mkdirSync(entries, { recursive: true, mode: 0o700 });
  const folder = mkdtempSync(join(entries, 'of-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const entry = join(folder, 'workflows.cjs');
  writeFileSync(entry, entryOf(userModule, cwd));
  return {
    ...options,
    workflowsPath: entry,
    workflowInterceptorModules: [...workflowInterceptorModules, ownFile('bundled.js')],
    webpackConfigHook: (config) => {
      const { resolve: resolving = {}, ...others } = webpackConfigHook(config);
      // The SDK's own entry lies next to ours and looks for its packages from there.
      const modules = [...(resolving.modules ?? ['node_modules']), packages];
      return { ...others, resolve: { ...resolving, modules } };
    },
  };
}

/**
 * Returns the entry: all that the user's module exports, a default workflow too, and ours under
 * their names.
 */
function entryOf(userModule: string, cwd: string | undefined): string {
  const required = (path: string): string => `require(${JSON.stringify(path)})`;
  return [
    `${required(ownFile('parent/run-agent.js'))}.runsAgents(${JSON.stringify(cwd === undefined ? {} : { cwd })});`,
    `module.exports = Object.assign({}, ${required(userModule)}, ${required(ownFile('index.js'))});`,
    '',
  ].join('\n');
}

/**
 * Returns the folder in which the user's module finds @temporalio/workflow, which must be the one
 * that ours finds: two copies would not know of each other.
 */
function packagesOf(userModule: string): string {
  const from = createRequire(join(userModule, 'here.js'));
  const found = resolveReal(from, SDK);
  if (found === null)
    throw new ConfigProblem(`${userModule} finds no @temporalio/workflow: npm install @temporalio/workflow`);
  const own = resolveReal(createRequire(import.meta.url), SDK);
  if (own !== null && own !== found) throw duplicateProblem('@temporalio/workflow', dirname(found), dirname(own));
  // A second copy would start agents elsewhere, not knowing that its worker runs them.
  const agents = resolveReal(from, 'perdure/workflow');
  const ownAgents = realpathSync(ownFile('parent/run-agent.js'));
  if (agents !== null && agents !== ownAgents) throw duplicateProblem('perdure', agents, ownAgents);
  return dirname(dirname(dirname(found)));
}

const SDK = '@temporalio/workflow/package.json';

/** Resolves a module with links followed; null when it is missing. */
function resolveReal(from: NodeJS.Require, name: string): string | null {
  try {
    return realpathSync(from.resolve(name));
  } catch (error) {
    if (['MODULE_NOT_FOUND', 'ERR_PACKAGE_PATH_NOT_EXPORTED'].includes(codeOf(error) ?? '')) return null;
    throw error;
  }
}

function duplicateProblem(name: string, userModule: string, own: string): ConfigProblem {
  return new ConfigProblem(
    `${name} is there twice, for the workflows in ${userModule} and for PerdurePlugin in ${own}: ${keepOne(name)}`,
  );
}

const keepOne = (name: string): string => `keep one: \`npm ls ${name}\` shows who brings the other`;

/**
 * Throws ConfigProblem for a second copy of the SDK: our own workers would run in a second runtime,
 * with a connection that it does not know.
 */
export function refuseOtherCopy({ connection }: Pick<WorkerOptions, 'connection'>): void {
  if (!connection || connection instanceof NativeConnection) return;
  const own = dirname(createRequire(import.meta.url).resolve('@temporalio/worker/package.json'));
  throw new ConfigProblem(
    `@temporalio/worker is there twice, for the worker's connection and for PerdurePlugin in ${own}: ${keepOne('@temporalio/worker')}`,
  );
}

/**
 * Matches the workflow as an export of the bundle; the name alone is in every workflow that starts
 * agents.
 */
const EXPORTED = new RegExp(`["']${WORKFLOW_TYPE.replace('.', String.raw`\.`)}["']\\s*:`);

/**
 * Throws ConfigProblem for a bundle that was built without our workflow: an agent in it would wait
 * for ever.
 */
export function refuseForeignBundle({ workflowBundle }: Pick<WorkerOptions, 'workflowBundle'>): void {
  if (!workflowBundle) return;
  const code = 'code' in workflowBundle ? workflowBundle.code : readFileSync(workflowBundle.codePath, 'utf8');
  if (EXPORTED.test(code)) return;
  const how = 'give the plugin to bundleWorkflowCode({ plugins: [new PerdurePlugin()] }) too';
  throw new ConfigProblem(`the workflow bundle was made without ${WORKFLOW_TYPE}: ${how}`);
}
