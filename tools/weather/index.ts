import { serveTools } from '../../src/tool.ts'
import { forecast } from './tools.ts'

export default serveTools(forecast)
