// Translates the permission modes of the SDK.
import type { PermissionMode as OurMode } from '../../workflows/contract/session.ts';
import { ClientProblem } from '../problem.ts';
import type { Options } from './shapes/options.ts';
import type { PermissionMode } from './shapes/permissions.ts';

/** Tells whether the program can decide, by `canUseTool` or by hooks. */
export function asksSomebody({ canUseTool, hooks }: Pick<Options, 'canUseTool' | 'hooks'>): boolean {
  return canUseTool !== undefined || (hooks?.PermissionRequest ?? []).length > 0;
}

/** Returns `default` for `auto`: no model judges calls here, so they ask. */
export function modeInEffect(mode: PermissionMode): PermissionMode {
  return mode === 'auto' ? 'default' : mode;
}

/** Replaces the mode by the one in effect, and tells `say` when they differ. */
export function withModeInEffect<Given extends Pick<Options, 'permissionMode'>>(
  options: Given,
  say: (line: string) => void,
): Given {
  if (options.permissionMode !== 'auto') return options;
  say('permission mode "auto" is "default" here: calls are asked about, and judged by nothing else');
  return { ...options, permissionMode: modeInEffect('auto') };
}

/**
 * Returns our mode. `default` becomes `dontAsk` for a program that cannot decide. Throws
 * ClientProblem `refused` for a mode that does not exist here.
 */
export function inwardMode(mode: PermissionMode = 'default', asks: boolean): OurMode {
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
