/** Texts of the admin pages: [English, Chinese]. */
import { agents } from "./admin/agents";
import { decisions } from "./admin/decisions";
import { installation } from "./admin/installation";
import { outside } from "./admin/outside";
import { sources } from "./admin/sources";
import { tools } from "./admin/tools";
import { work } from "./admin/work";

export const admin = {
  "admin.title": ["Admin", "控制台"],
  "admin.group.work": ["Work", "工作"],
  "admin.group.policies": ["Policies", "权限与规则"],
  "admin.group.activity": ["Activity and usage", "记录与统计"],
  "admin.group.knowledge": ["Knowledge", "知识"],
  "admin.group.automation": ["Automation", "自动化"],
  "admin.group.system": ["System", "系统"],
  "common.saved": ["Saved", "已保存"],
  "common.reload": ["Reload", "重新加载"],
  "common.create": ["Create", "创建"],
  "common.edit": ["Edit", "编辑"],
  "common.delete": ["Delete", "删除"],
  "common.secret": ["Secret", "密钥"],
  "common.secret_once": [
    "Copy this secret now. It is shown only once and is not stored in plain text.",
    "请立即复制：仅显示这一次，且不以明文存储。",
  ],
  "table.choose": ["Select {name}", "选择 {name}"],
  "table.choose_all": ["Select all rows", "全选列表中的项"],
  "filter.all": ["All", "全部"],
  "filter.nothing": ["No results", "没有匹配项。"],
  "field.name": ["Name", "名称"],
  "field.agent": ["Agent", "智能体"],
  "field.session": ["Session", "会话"],
  "field.user": ["User", "用户"],
  "field.owner": ["Owner", "所有者"],
  "field.project": ["Project", "项目"],
  "field.when": ["When", "时间"],
  "field.changed": ["Updated", "更新"],
  "field.started": ["Started", "开始"],
  "field.finished": ["Ended", "结束"],
  "field.until": ["Expires", "有效期至"],
  "field.actions": ["Actions", "操作"],
  ...tools,
  ...decisions,
  ...agents,
  ...work,
  ...sources,
  ...outside,
  ...installation,
} as const satisfies Record<string, readonly [string, string?]>;
