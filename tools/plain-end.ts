// Marks tools of ours whose outcome, when the workflow has carried out a call, is words alone
// (L62): a wait, a question.
import type { Tool } from './tool.ts';

/** The mark is no field of the tool, because others could set a field. */
const markedTools = new WeakSet<Tool>();

/** Marks a tool whose `conclude` gives `content` and nothing else, and does not throw. */
export function markPlainEnd(tool: Tool): Tool {
  markedTools.add(tool);
  return tool;
}

export const hasPlainEnd = (tool: Tool): boolean => markedTools.has(tool);
