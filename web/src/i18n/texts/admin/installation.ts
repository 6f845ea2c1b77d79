/** Texts about the installation, its settings and its health: [English, Chinese]. */
export const installation = {
  "admin.settings": ["Settings", "设置"],
  "settings.lead": [
    "What holds in this process, and who says so. It was read when the service started: a change counts after a restart.",
    "当前进程的有效设置及其来源。启动时读取，更改在重启后生效。",
  ],
  "settings.search": ["Name, variable or words of the help", "名称、环境变量或说明中的词"],
  "settings.origin": ["Origin", "来源"],
  "settings.origin.argument": ["Command line", "命令行"],
  "settings.origin.environment": ["Environment", "环境变量"],
  "settings.origin.env_file": [".env", ".env 文件"],
  "settings.origin.config_file": ["config.yml", "config.yml 文件"],
  "settings.origin.default": ["Default", "默认值"],
  "settings.value": ["Value", "值"],
  "settings.default": ["Default", "默认值"],
  "settings.set": ["set", "已设置"],
  "settings.not_set": ["not set", "未设置"],

  "admin.doctor": ["Doctor", "诊断"],
  "doctor.lead": [
    "What the service needs, whether it is there, and how to get it.",
    "服务需要什么、是否具备，以及如何补齐。",
  ],
  "doctor.again": ["Examine again", "重新检查"],
  "doctor.fine": ["Everything required is there.", "所需的一切都已具备。"],
  "doctor.ill": ["Something required is broken.", "有必需项已损坏。"],
  "doctor.cut": [
    "A check took too long: it and those after it are missing.",
    "某项检查耗时过长：该项及其后的检查缺失。",
  ],
  "doctor.check": ["Check", "检查项"],
  "doctor.found": ["Found", "结果"],
  "doctor.fix": ["What to do", "处理办法"],
  "doctor.state.ok": ["Fine", "正常"],
  "doctor.state.info": ["For your information", "提示"],
  "doctor.state.warning": ["Warning", "警告"],
  "doctor.state.broken": ["Broken", "损坏"],
} as const satisfies Record<string, readonly [string, string]>;
