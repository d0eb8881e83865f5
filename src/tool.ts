/** The door for tool authors: `import { defineTool, serveTools } from '../../src/tool.ts'`. */
export { defineTool, type DefinedTool, type RunContext, type ToolOptions } from './tool/define.ts'
export { ToolError } from './tool/fault.ts'
export { type KeyStatus, type Once, onceInKv, onceInSql, type SqlOnce } from './tool/once.ts'
export { content } from './tool/result.ts'
export { serveTools } from './tool/serve.ts'
