// Judges a call by name, schema, risk and permission, the first part of L33. It is cheap and runs
// no effect, so that it can say while a reply still streams whether a call may start early (L37).
import { isBrokenInput, isDeeperThan, DEEPEST_INPUT } from '../../system/json.ts';
import { acceptInput, type InputProblem } from '../../system/schema/input-schema.ts';
import { decidePermission, buildJudgeContext, type PermissionSettings } from '../../tools/rules/permission.ts';
import type { CallPlan } from './call-port.ts';
import { createSieve } from '../../tools/rules/match-rules.ts';
import type { ToolNames } from '../../store/configuration.ts';
import { nameToSend, namesToSend } from '../../store/transcript/tool-names.ts';
import { isOfServer, rankTools } from '../../tools/find-tools.ts';
import { isListed, type ToolRegistry } from '../../tools/registry.ts';
import type { JudgeContext, PermissionDecision, Risk, Tool } from '../../tools/tool.ts';

/** The input of a call is any JSON that a model can write. */
type NamedInput = { readonly name: string; readonly input: unknown };

/** `asksModel`: it may ask the small model. */
type CallRisk = { readonly safe: boolean; readonly risk: Risk; readonly asksModel: boolean };

/**
 * A call whose tool is known and whose input is valid. It is not allowed yet: `permission` may be
 * `ask` or `deny`.
 */
export type ReadyCall = CallRisk & {
  readonly kind: 'ready';
  readonly tool: Tool;
  /** The input as the schema returned it. */
  readonly input: unknown;
  readonly permission: PermissionDecision;
  /**
   * The tool's own rule has not answered yet: until then the call counts as one that asks. Rejects
   * with what the rule throws.
   */
  readonly undecided?: Promise<ReadyCall>;
  /**
   * Tells whether the call may also use this path or name, to which its own turned out to lead.
   */
  readonly mayUse: (subject: string) => boolean;
  /** Tells whether a path that the call finds may be shown, where rules deny some. */
  readonly mayShow?: (path: string) => boolean;
};

/** `fatal`: a tool is missing that the run may not go on without (L34). */
export type PreparedCall = ReadyCall | { readonly kind: 'invalid'; readonly text: string; readonly fatal?: true };

export type CallSettings = PermissionSettings & {
  /** The names of the tools that the run was opened with (L57). Absent: all. */
  readonly tools?: readonly string[];
  /** The names by which the model knows tools (L89). Absent: ours. */
  readonly toolNames?: ToolNames;
  /** The tools that a context modifier left (L38). Absent: all. */
  readonly allowedTools?: readonly string[];
};

export function prepareCall(registry: ToolRegistry, settings: CallSettings, call: NamedInput): PreparedCall {
  const tool = registry.get(call.name);
  const { tools, allowedTools } = settings;
  if (tool === undefined || !isListed(tools, call.name)) {
    const missing = isListed(tools, call.name) ? registry.whyMissing?.(call.name) : undefined;
    if (missing === undefined) return { kind: 'invalid', text: describeUnknownTool(registry, call.name, settings) };
    return { kind: 'invalid', text: missing, ...(registry.endsRun?.(call.name) && { fatal: true as const }) };
  }
  if (allowedTools !== undefined && !isListed(allowedTools, call.name)) {
    return { kind: 'invalid', text: describeNotAllowed(call.name, allowedTools) };
  }
  if (isBrokenInput(call.input)) {
    return {
      kind: 'invalid',
      text: `Not run: the input of ${tool.name} is not one whole JSON text. Make the call again.`,
    };
  }
  if (isDeeperThan(call.input, DEEPEST_INPUT)) {
    return { kind: 'invalid', text: `The input of ${tool.name} is nested more than ${DEEPEST_INPUT} levels deep.` };
  }
  try {
    const checked = acceptInput(tool, call.input);
    if (!checked.ok) return { kind: 'invalid', text: describeSchemaProblems(tool.name, checked.problems) };
    const { value: input } = checked;
    const callRisk = judgeRisk(tool, input, buildJudgeContext(settings));
    const called = { kind: 'ready', tool, input, ...callRisk } as const;
    const own = tool.canUse?.(input, { ...buildJudgeContext(settings), mode: settings.mode });
    if (own === undefined || !('then' in own)) return applyRules(settings, called, own);
    const undecided = Promise.resolve(own).then((decision) => applyRules(settings, called, decision));
    // A caller that only asks whether the call may start early does not wait.
    undecided.catch(() => undefined);
    return { ...applyRules(settings, called, { kind: 'ask' }), permission: { kind: 'ask' }, undecided };
  } catch (error) {
    // Schemas and rules are the tool's own code: its defect is this call's outcome, not the end of
    // the run (L33).
    return { kind: 'invalid', text: `Not run: ${tool.name} failed to judge its input: ${String(error)}` };
  }
}

type UndecidedCall = Omit<ReadyCall, 'permission' | 'mayUse' | 'mayShow'>;

function applyRules(settings: CallSettings, call: UndecidedCall, own: PermissionDecision | undefined): ReadyCall {
  const ready = { ...call, own, permission: decidePermission(settings, { ...call, own }) };
  const mayShow = createSieve(settings.permissions?.deny, { ...settings, tool: call.tool });
  const { permission } = ready;
  return {
    ...call,
    permission,
    mayUse: (subject) => mayUseSubject(settings, ready, subject),
    ...(mayShow && { mayShow }),
  };
}

/**
 * Denies a path that a rule denies, or that would have to be asked about and was not, and a name
 * that is not allowed by itself.
 */
function mayUseSubject(
  settings: CallSettings,
  ready: Omit<ReadyCall, 'mayUse' | 'mayShow'> & { readonly own: PermissionDecision | undefined },
  other: string,
): boolean {
  const { tool, input, risk, permission, own } = ready;
  const subject = tool.subject?.(input, buildJudgeContext(settings));
  if (subject?.kind === 'name') {
    // A hook or a person has spoken about the name it saw, not about this one.
    const { hook: _, ...rules } = settings;
    const named = { ...tool, subject: () => ({ kind: 'name', name: other }) as const };
    return decidePermission(rules, { risk, tool: named, input, own }).kind === 'allow';
  }
  if (subject?.kind !== 'path') return true;
  const now = decidePermission(settings, {
    risk,
    tool: { ...tool, subject: () => ({ ...subject, path: other }) },
    input,
    own,
  });
  return now.kind === 'allow' || (now.kind === 'ask' && permission.kind === 'ask');
}

function judgeRisk(tool: Tool, input: unknown, context: JudgeContext): CallRisk {
  const risk = typeof tool.risk === 'function' ? tool.risk(input, context) : tool.risk;
  return { risk, safe: tool.safe?.(input, context) ?? risk === 'read', asksModel: tool.asksModel?.(input) ?? false };
}

/**
 * Plans how a call runs. `hasPreHook`: a hook is asked before the call runs. `hasPostHook`: one is
 * told of it afterwards. `budgeted`: the loop looks at the budget before each effect (L51).
 */
export function planCall(
  call: PreparedCall,
  {
    hasPreHook,
    hasPostHook,
    budgeted,
  }: { readonly hasPreHook: boolean; readonly hasPostHook: boolean; readonly budgeted: boolean },
): CallPlan {
  if (call.kind !== 'ready' || call.permission.kind !== 'allow' || hasPreHook) return 'regular';
  // The call's own activity remembers the cost of the small model, and people are asked while that
  // activity runs.
  if (call.asksModel || call.tool.asksPeople) return 'regular';
  if (call.tool.delegate) return 'delegated';
  // An early call may be dropped with its reply, or run again: hooks hear of calls that count.
  if (call.safe) return hasPostHook ? 'regular' : 'early';
  return budgeted ? 'regular' : 'with_reply';
}

function describeNotAllowed(name: string, allowed: readonly string[]): string {
  const rest =
    allowed.length === 0 ? 'No tool may be called now' : `Now only these may be called: ${allowed.join(', ')}`;
  return `Not run: ${name} is not among the tools that an earlier call left. ${rest}.`;
}

function describeUnknownTool(registry: ToolRegistry, name: string, { tools, toolNames }: CallSettings): string {
  const all = registry.definitions();
  const sent = namesToSend(toolNames, all);
  const listed = all.filter((one) => isListed(tools, one.name));
  const ofServers = listed.filter(isOfServer);
  const near = ofServers.length > MOST_NAMED ? rankTools(ofServers, name).slice(0, NEAREST_NAMED) : ofServers;
  const known = listed.filter((one) => !isOfServer(one) || near.includes(one));
  const more = listed.length - known.length;
  const rest = more === 0 ? '' : `, and ${more} more of MCP servers`;
  const names = known.map((one) => nameToSend(sent, one.name)).join(', ');
  return `There is no tool named ${JSON.stringify(name.slice(0, 100))}. The tools are: ${names}${rest}.`;
}

/** Beyond so many tools of servers, only the nearest are named. */
const MOST_NAMED = 40;
const NEAREST_NAMED = 10;

/** Writes one line for each problem, and only the first few of hundreds. */
function describeSchemaProblems(tool: string, problems: readonly InputProblem[]): string {
  const lines = problems.slice(0, 5).map(({ path, message }) => {
    return `- ${path === '' ? 'input' : path.slice(0, 200)}: ${message.slice(0, 300)}`;
  });
  const more = problems.length - lines.length;
  return [`The input of ${tool} is not valid:`, ...lines, ...(more > 0 ? [`- and ${more} more`] : [])].join('\n');
}
