import { serveTools } from 'edgecall/tool'
import { currentTime, shiftTime } from './tools.ts'

export default serveTools(currentTime, shiftTime)
