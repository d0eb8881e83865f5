/** The parts of a conversation's object that backups use. */
export interface BackupPorts {
  readonly ctx: Pick<DurableObjectState, 'storage' | 'abort'>
  readonly store: {
    meta(name: 'owner'): unknown
    setMeta(name: 'owner', value: unknown): void
    create(init: () => void): void
    deleteAll(): Promise<void>
    deleteForGood(): Promise<void>
    readonly runs: { unfinished(): readonly string[] }
    endUnread(id: string, end: { readonly status: 'cancelled'; readonly finish: 'cancelled' }): void
  }
  readonly life: () => 'none' | 'open' | 'deleted'
  /** Cancels the runs that have not ended. */
  readonly cancelAll: () => Promise<void>
  readonly alarms: { restore(): Promise<void> }
}
