// Modes of permission as such programs name them.
import type { PermissionMode as OurMode } from '../../workflows/contract/session.ts';
import { ClientProblem } from '../problem.ts';
import type { Options } from './shapes/options.ts';
import type { PermissionMode } from './shapes/permissions.ts';

/** By a function, or by hooks that decide. */
export function asksSomebody({ canUseTool, hooks }: Pick<Options, 'canUseTool' | 'hooks'>): boolean {
  return canUseTool !== undefined || (hooks?.PermissionRequest ?? []).length > 0;
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
