// A program of an outside user that names every type of the public signatures.

const names = {
  perdure: `Abortable ApprovalAnswer ApprovalEvent ApproveOptions Configuration CreateClient Damage DenyOptions Entry Followed
    FollowOptions ForWorkers Hash ListOptions LiveEvents MessageId OnApproval Opened OpenServer OptionChanges PendingApproval PerdureClient
    PerdureConfig PermissionMode PermissionRules Phase ProblemKind Prompt PromptBlock Query QueryEvent RunningQuery RunOptions RunOutcome RunSummary SeenPhase
    SendOptions Sent SessionDescription SessionEvent SessionId SessionInfo SessionStatus Snipped StartOptions Store Terminal
    TerminalReason Told TopUp TranscriptEntry TranscriptOptions TransitionReason Usage WaitingApproval Watched
    ClientProblem ConfigProblem RunFailed SetupProblem StoreError`,
  'perdure/tool': `ContextModifier InputSchema JsonSchema JudgeContext PermissionDecision Recovery Risk RuleSubject StandardSchema
    ModelAnswer ModelQuestion StartedCall Tool ToolContext ToolOutput Verified`,
  'perdure/workflow': 'AgentCall RunningAgent RunOptions RunReport',
};

export function namedTypes(): string {
  const lists = Object.entries(names).map(([from, all]) => ({ from, all: all.trim().split(/\s+/) }));
  return lists
    .map(({ from, all }, at) => {
      const alias = (name: string): string => `${name} as ${name}${at}`;
      const uses = all.map((name) => `${name}${at}`).join(', ');
      return `import type { ${all.map(alias).join(', ')} } from '${from}';\nexport type All${at} = [${uses}];`;
    })
    .join('\n');
}
