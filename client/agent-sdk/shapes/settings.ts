// Settings in effect, as programs that show or watch them read them.
import type { SettingSource, Settings } from './options.ts';

export type ResolvedSettingSource = SettingSource | 'managed' | 'flag';
export type PolicySettingsOrigin = 'helper' | 'remote' | 'plist' | 'hklm' | 'file' | 'parent' | 'hkcu';
export type ProvenanceEntry = { source: ResolvedSettingSource; path?: string; policyOrigin?: PolicySettingsOrigin };

export type ResolveSettingsOptions = {
  cwd?: string;
  settingSources?: SettingSource[];
  managedSettings?: Settings;
  serverManagedSettings?: Settings;
  registryPolicyFingerprint?: () => unknown;
};

export type ResolvedSettings = {
  effective: Settings;
  provenance: Partial<Record<keyof Settings, ProvenanceEntry>>;
  /** Those of lower rank first. */
  sources: (ProvenanceEntry & { settings: Settings })[];
  machinePolicy?: {
    didNotLoad: false | ('profile' | 'registry' | 'file')[];
    registryPolicyDifferedFromFingerprint?: true;
  };
};
