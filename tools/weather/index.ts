import { serveTools } from 'edgecall/tool'
import { forecast } from './tools.ts'

export default serveTools(forecast)
