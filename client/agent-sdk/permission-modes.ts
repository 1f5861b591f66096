// Translates the permission modes of the SDK.
import type { PermissionMode as OurMode } from '../faces/types.ts';
import { ClientProblem } from '../faces/start.ts';
import type { Options } from './shapes/options.ts';
import type { PermissionMode } from './shapes/permissions.ts';

/** Tells whether the program can decide, by `canUseTool` or by hooks. */
export function asksSomebody({ canUseTool, hooks }: Pick<Options, 'canUseTool' | 'hooks'>): boolean {
  return canUseTool !== undefined || (hooks?.PermissionRequest ?? []).length > 0;
}

export const AUTO_IS_DEFAULT =
  'permission mode "auto", which is "default" here: calls are asked about, and judged by nothing else';

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
  say(`query() has ${AUTO_IS_DEFAULT}`);
  return { ...options, permissionMode: modeInEffect('auto') };
}

/**
 * Returns our mode for the one in effect. `default` becomes `dontAsk` for a program that cannot
 * decide. Throws ClientProblem `refused` for a mode that does not exist here.
 */
export function inwardMode(mode: PermissionMode = 'default', asks: boolean): OurMode {
  const modes: Readonly<Partial<Record<PermissionMode, OurMode>>> = {
    default: asks ? 'default' : 'dontAsk',
    acceptEdits: 'acceptEdits',
    bypassPermissions: 'bypass',
    plan: 'plan',
    dontAsk: 'dontAsk',
  };
  const effective = modeInEffect(mode);
  const ownMode = Object.hasOwn(modes, effective) ? modes[effective] : undefined;
  if (ownMode !== undefined) return ownMode;
  const known = Object.keys(modes).join(', ');
  throw new ClientProblem('refused', `permission mode ${JSON.stringify(mode)} is none of ${known}`);
}
