# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Launch files and what they name: described and complete; executed if `launch` is installed."""

import ast
import importlib
import importlib.util
import json
import pathlib
import py_compile
import re
from xml.etree import ElementTree

import pytest
import yaml

from masticator_dynamics.cli import COMMANDS
from masticator_dynamics.errors import InputError
from nodes.launch_files import (
    PACKAGES,
    ROOT,
    as_text,
    command_lines,
    executed,
    launch_file,
    needs_launch,
    only,
    parameters,
)

COMMON = {'mechanism', 'namespace', 'frame_prefix', 'use_sim_time', 'gui'}
CONTROL = {'rate', 'goal', 'friction', 'limits', 'params_file', 'plots'}
OWN = {'publish_joint_states', 'robot_state_publisher'}
ROBOT = COMMON | CONTROL | {
    'controller', 'controllers', 'drives', 'feedforward', 'food', 'on_exit',
}  # fmt: skip
WANTED = {
    'dynamics': COMMON | CONTROL | OWN,
    'bringup': COMMON | CONTROL | {'record', 'measured', 'use_fake_planner'},
    'view': COMMON | {'bag'},
    'robot': ROBOT | {
        'hardware', 'active', 'simulate', 'bus_config', 'master_config', 'can_interface',
        'observe_bite',
    },
    'twin': ROBOT,
}  # fmt: skip
NODES = (
    'dynamics',
    'joint_state_completion',
    'inertia_coupling',
    'inertia_estimator',
    'frame_path',
    'bite_observer',
    'servo_drives',
)


def arguments_of(name):
    """Names and descriptions in the ARGUMENTS of a launch file, without executing it."""
    table = yaml.safe_load((ROOT / 'config/launch_arguments.yaml').read_text())
    shared = {name: description for name, (_, description) in table.items()}
    described = {}
    for node in ast.parse(launch_file(name).read_text()).body:
        if isinstance(node, ast.Assign) and node.targets[0].id.endswith('ARGUMENTS'):
            for row in node.value.elts:
                if isinstance(row, ast.Tuple):
                    described[row.elts[0].value] = row.elts[2].value
                elif isinstance(row.value, ast.Call):
                    described |= {name.value: shared[name.value] for name in row.value.args}
    return described


def test_all_launch_files_are_tested():
    names = {path.name.removesuffix('.launch.py') for path in (ROOT / 'launch').glob('*.py')}
    assert names == set(WANTED)


@pytest.mark.parametrize('name', WANTED)
def test_launch_file_compiles_and_describes_every_argument(name, tmp_path):
    py_compile.compile(str(launch_file(name)), cfile=str(tmp_path / 'x.pyc'), doraise=True)
    described = arguments_of(name)
    assert set(described) == WANTED[name]
    assert all(len(text) > 10 for text in described.values())


@pytest.mark.parametrize('name', WANTED)
def test_files_that_a_launch_file_names_exist(name):
    text = launch_file(name).read_text()
    for path in re.findall(r"'((?:config|examples|launch|rviz)/[\w./]+)'", text):
        assert (ROOT / path).is_file(), path
    for node in re.findall(r"own_node\(\s*'(\w+)'", text):
        assert (ROOT / f'scripts/{node}_node').is_file(), node
        assert (ROOT / f'config/{node}.yaml').is_file(), node


def declarations(name):
    pytest.importorskip('rclpy', reason='rclpy is not installed')
    from masticator_dynamics.ros.common import managed_node
    from tools.parameter_tables import settings_of

    return managed_node.declarations(settings_of(name))


@pytest.mark.parametrize('name', NODES)
def test_parameter_file_names_every_parameter_with_its_default(name):
    content = yaml.safe_load((ROOT / f'config/{name}.yaml').read_text())
    values = content[f'/**/{name}']['ros__parameters']
    flat = {}
    for key, value in values.items():
        nested = value.items() if isinstance(value, dict) else [(None, value)]
        flat |= {f'{key}.{k}' if k else key: v for k, v in nested}
    declared = declarations(name)
    assert flat == {p.name: p.default for p in declared}
    assert {k: type(v) for k, v in flat.items()} == {p.name: type(p.default) for p in declared}


def test_the_table_of_launch_arguments_is_that_of_the_files():
    """Each argument is in the table of docs/topics.md, with its launch files."""
    page = (ROOT / 'docs/topics.md').read_text()
    table = page.partition('## Launch arguments')[2].partition('\n## ')[0]
    found = {}
    for names, where in re.findall(r'^\| (`.*?) \|.*\| ([^|]*) \|$', table, re.MULTILINE):
        listed = set(re.findall(r'`(\w+)`', where))
        files = set(WANTED) - listed if where.startswith('all') else listed
        found |= {name: files for name in re.findall(r'`(\w+)`', names)}
    declared = {}
    for file in WANTED:
        for name in arguments_of(file):
            declared.setdefault(name, set()).add(file)
    assert found == declared


def test_the_page_of_topics_is_complete():
    """Its tables match the declarations, and every executable has a section."""
    pytest.importorskip('rclpy', reason='rclpy is not installed')
    from tools.parameter_tables import with_tables

    page = (ROOT / 'docs/topics.md').read_text()
    assert with_tables(page) == page
    for node in NODES:
        assert f'## `{node}`' in page and f'parameters of {node} -->' in page
    assert {f'{node}_node' for node in NODES} < {p.name for p in (ROOT / 'scripts').iterdir()}


def topics_in_layouts():
    """Topics named by plots and displays, for each layout in config/layouts."""
    tree = ElementTree.parse(ROOT / 'config/layouts/plotjuggler.xml')
    curves = {curve.attrib['name'] for curve in tree.iter('curve')}
    field = r'(/crank_[1-6]/(effort|position|velocity)|/wrench/force/[xyz])$'
    layout = json.loads((ROOT / 'config/layouts/foxglove.json').read_text())
    shown = set()
    for panel in layout['configById'].values():
        shown |= {path['value'].partition('.')[0] for path in panel.get('paths', ())}
        shown |= set(panel.get('topics', ())) | {panel.get('topicToRender', '/diagnostics')}
    return {re.sub(field, '', curve) for curve in curves}, shown


def test_layouts_name_topics_that_are_published():
    """Topics of the masticator, whose cranks and contacts they show, without namespace."""
    pytest.importorskip('rclpy', reason='rclpy is not installed')
    from masticator_dynamics.description import load_description
    from tools.security_policy import access

    published = {'/robot_description', '/bite_force'}  # of robot_state_publisher, of a sensor
    for node in (*NODES, 'twin'):
        names = (name.replace('~', f'/{node}') for name in access(node).publish)
        published |= {f'/{name}'.replace('//', '/') for name in names}
    published -= {'/contact_force/*'}
    contacts = load_description('masticator').contacts
    published |= {f'/contact_force/{contact.name}' for contact in contacts}
    for topics in topics_in_layouts():
        assert len(topics) >= 4 and topics <= published, topics - published


# Lines for a shell with ROS 2, which tests do not have: what they name exists.
VERB = 'launch|run|topic|service|action|param|lifecycle'
TRANSITIONS = {'configure', 'activate', 'deactivate', 'cleanup', 'shutdown'}


def ros2_lines():
    """Words of all such lines, `ros2` left out; launch files named with arguments are some, too."""
    for page in (ROOT / 'README.md', *sorted((ROOT / 'docs').glob('*.md'))):
        text = page.read_text().replace('\\\n', ' ')
        for line in re.findall(rf'ros2 ((?:{VERB}) [^`|\n#]+)', text):
            yield page.name, line.split()
        for line in re.findall(r'`(\w+\.launch\.py\b[^`]*)`', text):
            yield page.name, ['launch', 'masticator_dynamics', *line.split()]


def names_of(kind):
    """Topics, services or actions of all nodes and of what runs beside them, from the root."""
    from tools.security_policy import access

    found = {'/robot_description'}
    for node in (*NODES, 'twin', 'controller_manager'):
        names = [name for right in kind for name in getattr(access(node), right)]
        found |= {'/' + name.replace('~', node).lstrip('/') for name in names}
    return found


def check_type(words):
    """A type such as std_msgs/msg/Bool, of a package that ours depends on."""
    package, kind, name = words[0].split('/')
    assert f'>{package}<' in (ROOT / 'package.xml').read_text(), package
    if importlib.util.find_spec(package):
        assert hasattr(importlib.import_module(f'{package}.{kind}'), name), words[0]


def check_run(words):
    package, executable, *rest = words
    if package != 'masticator_dynamics':
        assert package in PACKAGES
        return
    assert executable == 'masticator' or (ROOT / 'scripts' / executable).is_file(), executable
    if executable == 'masticator':
        assert rest[0] in COMMANDS, rest
        return
    node = executable.removesuffix('_node')
    for flag, value in zip(rest, rest[1:], strict=False):
        name = value.partition(':=')[0]
        if flag == '-p':
            assert name in {p.name for p in declarations(node)}, value
        elif flag == '-r':
            assert f'/{name}' in names_of(('publish', 'subscribe')), value


def check_ros2(verb, *words):
    """Every name in a line is that of something there is."""
    plain = [word for word in words if not word.startswith('-')]
    if len(plain) < 2:
        return  # a command in general
    if verb == 'launch':
        declared = arguments_of(plain[1].removesuffix('.launch.py'))
        assert {word.partition(':=')[0] for word in plain[2:]} <= set(declared), plain
    elif verb == 'run':
        check_run(words)
    elif verb in ('param', 'lifecycle'):
        action, node, *what = plain
        if verb == 'param':
            assert what[0] in {p.name for p in declarations(node.strip('/'))}, what
        else:
            assert node.strip('/') in NODES and (action == 'get' or what[0] in TRANSITIONS), plain
    else:
        rights = {'topic': ('publish', 'subscribe'), 'service': ('reply',), 'action': ('execute',)}
        assert f'/{plain[1].strip("/")}' in names_of(rights[verb]), plain
        if len(plain) > 2:
            check_type(plain[2:])


def test_what_ros2_lines_of_the_pages_name_exists():
    pytest.importorskip('rclpy', reason='rclpy is not installed')
    seen = []
    for page, words in ros2_lines():
        try:
            check_ros2(*words)
        except Exception as error:
            raise AssertionError(f'{page}: {" ".join(words)}: {error}') from error
        seen.append(words[0])
    assert set(seen) == set(VERB.split('|')) and len(seen) > 40, len(seen)
    with pytest.raises(AssertionError):
        check_ros2('launch', 'masticator_dynamics', 'view.launch.py', 'speed:=1')
    with pytest.raises(AssertionError):
        check_ros2('topic', 'echo', '/diagnosis')


def test_the_example_is_short_and_compiles(tmp_path):
    example = ROOT / 'examples/chewing_planner.py'
    py_compile.compile(str(example), cfile=str(tmp_path / 'x.pyc'), doraise=True)
    lines = [line for line in example.read_text().splitlines() if line.strip()]
    assert len(lines) < 70


ROBOT_NODES = {
    'robot_state_publisher', 'ros2_control', 'spawner', 'dynamics', 'joint_state_completion',
    'wait_for_joint_states',
}  # fmt: skip
BRINGUP = {
    'dynamics', 'robot_state_publisher', 'inertia_coupling', 'inertia_estimator', 'frame_path',
}  # fmt: skip
CASES = [
    ('dynamics', {'gui': 'true'}, {'dynamics', 'robot_state_publisher', 'rviz2'}),
    ('dynamics', {'robot_state_publisher': 'false', 'plots': 'true'}, {'dynamics', 'plot_topics'}),
    ('view', {'mechanism': 'rcid', 'gui': 'true'}, {
        'joint_state_completion', 'frame_path', 'robot_state_publisher',
        'joint_state_publisher_gui', 'rviz2',
    }),
    ('view', {'gui': 'false'}, {'joint_state_completion', 'frame_path', 'robot_state_publisher'}),
    ('view', {'gui': 'true', 'bag': '.'}, {'frame_path', 'robot_state_publisher', 'rviz2', 'bag'}),
    ('bringup', {'gui': 'false'}, BRINGUP),
    ('bringup', {
        'measured': 'true', 'record': 'true', 'use_fake_planner': 'true', 'gui': 'true',
    }, BRINGUP | {'joint_state_completion', 'rviz2', 'bag', 'planner'}),
    ('robot', {'gui': 'true'}, ROBOT_NODES | {'servo_drives', 'rviz2'}),
    ('robot', {'simulate': 'true', 'gui': 'false'}, ROBOT_NODES | {'servo_drives', 'twin'}),
    ('robot', {'hardware': 'mock', 'plots': 'true', 'gui': 'false'}, ROBOT_NODES | {'plot_topics'}),
    ('robot', {
        'hardware': 'canopen', 'gui': 'false', 'bus_config': '/b.yml', 'master_config': '/m.dcf',
    }, ROBOT_NODES),
    ('twin', {'gui': 'false'}, ROBOT_NODES | {'servo_drives', 'twin'}),
]  # fmt: skip


WINDOWS = {'rviz2', 'joint_state_publisher_gui', 'plot_topics'}


@needs_launch
@pytest.mark.parametrize(('name', 'given', '_'), CASES)
def test_every_process_ends_with_launch_and_windows_at_once(name, given, _):
    from launch.utilities import perform_substitutions

    from launch import LaunchContext

    for action in executed(name, given)[1]:
        process = getattr(action, 'process_description', None)
        if process is None:
            continue
        words = perform_substitutions(LaunchContext(), process.prefix).split()
        window = getattr(action, 'node_executable', '') in WINDOWS
        assert words == ['setpriv', '--pdeathsig', 'KILL' if window else 'TERM'], action


@needs_launch
@pytest.mark.parametrize('namespace', ['', '/left/'])
@pytest.mark.parametrize('name', ['dynamics', 'twin'])
def test_plots_are_of_the_efforts_of_this_robot_named_by_joints(name, namespace):
    given = {'plots': 'true', 'gui': 'false', 'namespace': namespace}
    lines = command_lines(name, given)
    topic = namespace.rstrip('/') + '/joint_effort'
    words = only(lines, 'plot_topics')
    assert words[:6] == [f'{topic}/crank_{k}/data' for k in range(1, 7)]
    assert parameters(only(lines, 'dynamics_node'), 'dynamics')['effort_topics'] is True
    plain = only(command_lines(name, {'gui': 'false'}), 'dynamics_node')
    assert parameters(plain, 'dynamics')['effort_topics'] is False


def rviz_file(name, **given):
    """What RViz is started with."""
    words = only(command_lines(name, {'gui': 'true'} | given), 'rviz2')
    return yaml.safe_load(pathlib.Path(words[words.index('-d') + 1]).read_text())


@needs_launch
@pytest.mark.parametrize(
    ('name', 'drawings'),
    [
        ('view', {'Path'}),
        ('dynamics', {'Forces'}),
        ('bringup', {'Forces', 'Inertia coupling', 'Path'}),
        ('twin', {'Forces'}),
    ],
)
def test_rviz_shows_what_the_launch_file_starts(name, drawings):
    manager = rviz_file(name)['Visualization Manager']
    assert manager['Global Options']['Fixed Frame'] == 'maxilla'
    shown = {display['Name'] for display in manager['Displays']}
    assert shown == drawings | {'Grid', 'Robot', 'Frames'}


@needs_launch
def test_a_prefix_reaches_rviz_without_its_slash_and_the_nodes_with_it():
    lines = command_lines('bringup', {'gui': 'true', 'frame_prefix': 'left/', 'namespace': 'left'})
    for node in ('dynamics', 'inertia_coupling', 'frame_path', 'robot_state_publisher'):
        name = node if node == 'robot_state_publisher' else f'{node}_node'
        assert parameters(only(lines, name), node)['frame_prefix'] == 'left/', node
    manager = rviz_file('bringup', frame_prefix='left/')['Visualization Manager']
    robot = next(d for d in manager['Displays'] if d['Name'] == 'Robot')
    assert (robot['TF Prefix'], manager['Global Options']['Fixed Frame']) == (
        'left',
        'left/maxilla',
    )
    with pytest.raises(InputError, match='left_'):
        executed('view', {'gui': 'true', 'frame_prefix': 'left_'})
    executed('view', {'gui': 'false', 'frame_prefix': 'left_'})


@needs_launch
def test_sliders_do_not_hear_the_description_of_the_mechanism():
    words = only(command_lines('view', {'gui': 'true'}), 'joint_state_publisher_gui')
    assert {'robot_description:=sliders_description', 'joint_states:=joint_states_in'} <= {*words}


@needs_launch
def test_the_published_description_has_a_colour_per_link():
    words = only(command_lines('view', {'gui': 'false'}), 'robot_state_publisher')
    text = parameters(words, 'robot_state_publisher')['robot_description']
    links = ElementTree.fromstring(text).findall('link')
    assert all(
        len({v.find('material').get('name') for v in li.findall('visual')}) < 2 for li in links
    )
    assert 'mandible_tooth' in [link.get('name') for link in links]


@needs_launch
@pytest.mark.parametrize(('name', 'given', 'wanted'), CASES)
def test_launch_files_start_what_the_arguments_say(name, given, wanted):
    declared, actions = executed(name, given)
    started = set()
    for action in actions:
        if hasattr(action, 'node_executable'):
            started.add(action.node_executable.removesuffix('_node'))
        elif hasattr(action, 'cmd'):
            words = ''.join(as_text(word) for word in action.cmd)
            started.add('bag' if 'bag' in words else 'planner')
    assert set(declared) == WANTED[name] and all(declared.values())
    assert started == wanted


@needs_launch
@pytest.mark.parametrize('namespace', ['', '/left/'])
def test_a_bag_played_into_rviz_shows_robot_and_forces(namespace):
    """All that the displays need."""
    from launch.actions import ExecuteProcess

    _, actions = executed('bringup', {'record': 'true', 'gui': 'false', 'namespace': namespace})
    commands = [
        [as_text(word) for word in action.cmd]
        for action in actions
        if type(action) is ExecuteProcess
    ]
    (command,) = [words for words in commands if 'record' in words]
    recorded = re.compile(command[command.index('--regex') + 1])
    below = namespace.rstrip('/') + '/'
    shown = yaml.safe_load((ROOT / 'rviz/masticator.rviz').read_text())['Visualization Manager']
    drawn = [
        display[key]['Value']
        for display in shown['Displays']
        for key in ('Topic', 'Description Topic')
        if key in display
    ]
    assert len(drawn) == 4
    for topic in ('/tf', '/tf_static', *(below + name for name in drawn)):
        assert recorded.fullmatch(topic), topic
    assert not recorded.fullmatch('/right/dynamics/markers')


@needs_launch
def test_a_bag_is_played_in_place_of_sliders_with_its_time(tmp_path):
    """What this launch publishes itself is left out of it."""
    bag = str(tmp_path)
    given = {'gui': 'true', 'bag': bag, 'frame_prefix': 'left/'}
    _, actions = executed('view', given)
    processes = [[as_text(w) for w in a.cmd] for a in actions if type(a).__name__ != 'Node']
    (played,) = processes
    assert played[:4] == ['ros2', 'bag', 'play', bag] and '--clock' in played
    left_out = re.compile(played[played.index('--exclude-regex') + 1])
    here = '/tf', '/tf_static', '/robot_description', '/left/robot_description', '/frame_path/path'
    assert all(map(left_out.fullmatch, here))
    shown = '/joint_states', '/left/joint_states', '/dynamics/markers', '/bite_force', '/tf/more'
    assert not any(map(left_out.fullmatch, shown))
    lines = command_lines('view', given)
    for name, words in lines:
        assert parameters(words, name.removesuffix('_node'))['use_sim_time'] is True, name
    manager = rviz_file('view', bag=bag)['Visualization Manager']
    assert {'Forces', 'Inertia coupling', 'Path'} < {d['Name'] for d in manager['Displays']}
    with pytest.raises(InputError, match='no bag some/folder'):
        executed('view', {'bag': 'some/folder'})


@needs_launch
@pytest.mark.parametrize('sim_time', [False, True])
@pytest.mark.parametrize(
    ('name', 'given'),
    [
        ('dynamics', {'plots': 'true', 'gui': 'true'}),
        ('bringup', {'measured': 'true', 'use_fake_planner': 'true', 'record': 'true'}),
        ('view', {'gui': 'true'}),
        ('robot', {'hardware': 'mock', 'plots': 'true', 'gui': 'true'}),
    ],
)
def test_every_process_follows_the_clock_that_is_asked_for(name, given, sim_time):
    given = {'gui': 'false', 'use_sim_time': str(sim_time).lower()} | given
    lines = command_lines(name, given)
    assert lines
    for executable, words in lines:
        node = executable.removesuffix('_node')
        assert parameters(words, node)['use_sim_time'] is sim_time, executable
    if name == 'bringup':
        others = [action for action in executed(name, given)[1]
                  if hasattr(action, 'cmd') and not hasattr(action, 'node_executable')]  # fmt: skip
        bag, planner = ([as_text(word) for word in action.cmd] for action in others)
        assert ('--use-sim-time' in bag) is sim_time
        assert planner[-2:] == ['-p', f'use_sim_time:={str(sim_time).lower()}']


@needs_launch
def test_a_view_without_sliders_says_that_nothing_moves():
    def told(**given):
        actions = executed('view', given)[1]
        return [as_text(action.msg) for action in actions if type(action).__name__ == 'LogInfo']

    assert told(gui='true') == []
    (text,) = told(gui='false')
    assert 'nothing moves until somebody publishes x, y, alpha, beta on joint_states_in' in text
