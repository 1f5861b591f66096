// Lists the beta features of the API that a request uses. A header names each to the server, which
// may refuse any of them.
import type { ModelRequest } from '../deps.ts';
import { changesTools, hasSummarisedChanges } from '../../store/transcript/system-message.ts';
import { beginsWithSummary } from './request.ts';

/** Names the beta that `task_budget` belongs to. */
const TASK_BUDGETS_BETA = 'task-budgets-2026-03-13';
/** Names the beta that `block_binding` belongs to. */
export const THINKING_BINDING_BETA = 'thinking-binding-controls-2026-08-01';
/** Names the beta of summaries that the API makes, and of their blocks. */
export const COMPACTION_BETA = 'compact-2026-09-04';
/** Names the beta of tools that messages bring. */
export const INLINE_TOOLS_BETA = 'inline-tools-2026-09-15';

export function betasOf(body: ModelRequest): readonly string[] {
  return [
    ...(body.output_config?.task_budget ? [TASK_BUDGETS_BETA] : []),
    ...(body.thinking?.block_binding ? [THINKING_BINDING_BETA] : []),
    ...(body.compaction || beginsWithSummary(body.messages) ? [COMPACTION_BETA] : []),
    ...(changesTools(body.messages) || hasSummarisedChanges(body.messages) ? [INLINE_TOOLS_BETA] : []),
  ];
}
