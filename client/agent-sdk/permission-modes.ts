// Modes of permission as such programs name them.
import type { PermissionMode as OurMode } from '../../workflows/contract/session.ts';
import { ClientProblem } from '../problem.ts';
import type { Options } from './shapes/options.ts';
import type { PermissionMode } from './shapes/permissions.ts';

/** By a function, or by hooks that decide. */
export function asksSomebody({ canUseTool, hooks }: Pick<Options, 'canUseTool' | 'hooks'>): boolean {
  return canUseTool !== undefined || (hooks?.PermissionRequest ?? []).length > 0;
}

/** The mode in effect: nothing judges calls here as `auto` does, so that they are asked about. */
export function modeInEffect(mode: PermissionMode): PermissionMode {
  return mode === 'auto' ? 'default' : mode;
}

/** The options with the mode in effect; `say` is told where it is another than was asked for. */
export function withModeInEffect<Given extends Pick<Options, 'permissionMode'>>(
  options: Given,
  say: (line: string) => void,
): Given {
  if (options.permissionMode !== 'auto') return options;
  say('permission mode "auto" is "default" here: calls are asked about, and judged by nothing else');
  return { ...options, permissionMode: modeInEffect('auto') };
}

/** Where nobody answers, nothing is asked. Throws ClientProblem `refused`. */
export function modeOf(mode: PermissionMode = 'default', asks: boolean): OurMode {
  const modes: Readonly<Partial<Record<PermissionMode, OurMode>>> = {
    default: asks ? 'default' : 'dontAsk',
    acceptEdits: 'acceptEdits',
    bypassPermissions: 'bypass',
    plan: 'plan',
    dontAsk: 'dontAsk',
  };
  const ours = Object.hasOwn(modes, mode) ? modes[mode] : undefined;
  if (ours !== undefined) return ours;
  if (mode === 'auto') {
    const instead = 'give "acceptEdits" with allowedTools for what runs by itself, and canUseTool for the rest';
    throw new ClientProblem('refused', `permission mode "auto" is refused: no model judges calls here; ${instead}`);
  }
  const known = Object.keys(modes).join(', ');
  throw new ClientProblem('refused', `permission mode ${JSON.stringify(mode)} is none of ${known}`);
}
