import type { McpEntry } from './client-config.ts'

/**
 * Returns the names of the tools of these servers as models would see them, or the reason why they cannot be listed. The
 * Worker itself asks the servers, on workerd, with the secrets in the `.dev.vars` beside its configuration.
 */
export async function listServerTools(
  folder: string,
  servers: readonly McpEntry[],
): Promise<readonly string[] | string> {
  const { startTool } = await import('../../testing/running-tool.ts')
  try {
    const worker = await startTool(folder, { vars: { MCP_SERVERS: JSON.stringify(servers) } })
    const names = worker.definitions.map(({ name }) => name)
    await worker.close()
    return names
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
