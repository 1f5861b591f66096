// Tries a call dry before a person is asked about it, so that nobody decides about a call that
// cannot take effect. The model learns from its words what the file says, so it is tried only where
// the run may read the file without asking.
import { guardTool } from './call-tool.ts';
import type { CallEnvironment } from './call-environment.ts';
import { prepareCall, type ReadyCall } from './prepare.ts';
import { buildJudgeContext } from '../../tools/rules/permission.ts';
import type { ToolContext } from '../../tools/tool.ts';

/** Says why the call would fail. Null: it may work, or only a person may find out. */
export async function findFailure(
  environment: CallEnvironment,
  { tool, input }: Pick<ReadyCall, 'tool' | 'input'>,
  context: ToolContext,
): Promise<string | null> {
  const { wouldFail } = tool;
  if (wouldFail === undefined || !mayRead(environment, { tool, input })) return null;
  const tried = await guardTool(tool, context.signal, async () => (await wouldFail(input, context)) ?? null);
  return tried.kind === 'value' ? tried.value : null;
}

function mayRead(environment: CallEnvironment, { tool, input }: Pick<ReadyCall, 'tool' | 'input'>): boolean {
  const subject = tool.subject?.(input, buildJudgeContext(environment));
  if (subject?.kind !== 'path') return false;
  const read = prepareCall(environment.registry, environment, { name: 'read', input: { path: subject.path } });
  return read.kind === 'ready' && read.permission.kind === 'allow' && read.undecided === undefined;
}
