// The models of a run, from what its caller and its worker named (X1, X2), and whether they can do
// what is asked of them.
import type { RunConfig, RunModel } from '../../store/configuration.ts';
import type { RunOptions } from '../../workflows/contract/session.ts';
import type { Deps } from '../deps.ts';

export type RunModels = Pick<RunConfig, 'models' | 'smallModel'>;

/** A sentence when one of the names is none of a model, or they cannot do it. */
export async function runModels(
  { models, defaults }: Pick<Deps, 'models' | 'defaults'>,
  options: RunOptions,
): Promise<RunModels | string> {
  const given = [options.model ?? defaults.model, ...(options.fallbackModels ?? defaults.fallbackModels)];
  const found = [...given, defaults.smallModel].map((name) => models.find(name));
  const wrong = found.find((each) => 'problem' in each);
  if (wrong && 'problem' in wrong) return wrong.problem;
  const names = found.flatMap((each) => ('name' in each ? [each.name] : []));
  await models.lookUp([...new Set(names)]);
  const all = names.map((name) => ({ name, ...models.facts(name) }));
  const [primary, ...rest] = all.slice(0, -1) as [RunModel, ...RunModel[]];
  // A worker's list may begin with the model that a caller chose: nothing is gained by asking it
  // again.
  const fallbacks = rest.filter(({ name }, at) => name !== (at === 0 ? primary : rest[at - 1])?.name);
  const chosen: RunModels = { models: [primary, ...fallbacks], smallModel: all.at(-1) ?? primary };
  return (
    priceProblem([...chosen.models, chosen.smallModel], options) ??
    thinkingProblem(primary, options) ??
    effortProblem(primary, options) ??
    chosen
  );
}

function thinkingProblem({ name, maxOutput }: RunModel, { thinkingTokens }: RunOptions): string | undefined {
  if (thinkingTokens === undefined || thinkingTokens < maxOutput) return undefined;
  return `thinking tokens are ${thinkingTokens}, and all that ${name} may answer with is ${maxOutput} tokens: give fewer`;
}

/** Of a model that nobody knows anything may be asked. */
function effortProblem({ name, effort, thinking }: RunModel, { effort: wanted }: RunOptions): string | undefined {
  if (wanted === undefined || effort?.levels.includes(wanted)) return undefined;
  if (effort) return `${name} has no effort "${wanted}": there are ${effort.levels.join(', ')}`;
  return thinking && `${name} takes no effort: leave it out, or choose another model`;
}

/** Every model that may be asked needs a price: one without would count for nothing. */
function priceProblem(models: readonly RunModel[], { maxBudgetUsd }: RunOptions): string | undefined {
  const unpriced = models.find(({ price }) => price === null);
  if (maxBudgetUsd === undefined || unpriced === undefined) return undefined;
  return (
    `a budget in US dollars cannot be kept with model ${unpriced.name}: its price is not known; use a known model, leave the budget out, ` +
    `or add its prices per million tokens to the configuration: ${priceLine(unpriced.name)}`
  );
}

/** The line of a configuration that says what a model costs. */
export function priceLine(name: string): string {
  return `models: { ${JSON.stringify(name)}: { price: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } } }`;
}
