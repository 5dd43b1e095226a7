#!/usr/bin/env perl
# Groups the errors of logs by cause. Needs nothing but perl-base.
use strict;
use warnings;
use utf8;
use Cwd qw(abs_path);
use File::Basename qw(basename dirname);
use Getopt::Long qw(:config no_ignore_case);
use List::Util qw(max min);

require(abs_path(dirname(__FILE__)) . '/loglib.pl');

my $USAGE = <<'END';
usage: triage.pl FILE... [--level error|warn|all] [--since TIME] [--until TIME] [--grep REGEX]
                 [--sort count|first] [--top N] [--zone +HH:MM] [--year YYYY]

Groups the errors of log files by cause. - reads standard input; .gz files are read as they are.
--level warn adds warnings, all adds everything.
--since and --until take times like '2026-11-20 10:41' (UTC, or in --zone).
--zone and --year complete times that lack them.
END

binmode STDOUT, ':utf8';
binmode STDERR, ':utf8';
my %option = (level => 'error', sort => 'count', top => 10, zone => '+00:00', year => (gmtime)[5] + 1900);
{
    local $SIG{__WARN__} = sub { my $text = lcfirst shift; chomp $text; usage($text) };
    GetOptions(\%option, 'help', 'level=s', 'since=s', 'until=s', 'grep=s', 'sort=s', 'top=i', 'zone=s', 'year=i');
}
if ($option{help}) { print $USAGE; exit 0 }
usage('give at least one file') if !@ARGV;
my %RANK = (error => 2, warn => 1, all => 0);
my $least = $RANK{ $option{level} } // usage("--level is error, warn or all, not '$option{level}'");
usage("--sort is count or first, not '$option{sort}'") if $option{sort} !~ /^(?:count|first)$/;
usage("--zone is an offset like +02:00, not '$option{zone}'") if $option{zone} !~ /^[+-]\d\d:?\d\d$/;
my %limit;
for my $end ('since', 'until') {
    next if !defined $option{$end};
    $limit{$end} = loglib::parse_option_time($option{$end}, $option{zone}, $option{year})
        // usage("--$end is a time like '2026-11-20 10:41', not '$option{$end}'");
}
my $grep = defined $option{grep} ? eval { qr/$option{grep}/i } // usage('--grep is no valid regular expression') : undef;

my ($lines, $undated, $earliest, $latest) = (0, 0);
my (%groups, %hidden, @times);
read_log($_) for @ARGV;
report();

sub read_log {
    my $path = shift;
    my $log = loglib::open_log($path) or fail("cannot read $path: $!");
    my $name = $path eq '-' ? 'stdin' : basename($path);
    my ($entry, $dated, $number) = (undef, 0, 0);
    while (defined(my $raw = readline $log)) {
        $lines++;
        $number++;
        my $line = loglib::clean($raw);
        next if $line eq '';
        my ($time, $rest) = loglib::find_time($line, $option{zone}, $option{year});
        # In a log with times a line without one belongs to the line before; else indentation tells.
        if (!defined $time && $entry && ($dated || $line =~ /^(?:\s|at |Caused by|Traceback|\.\.\. )/)) {
            push @{ $entry->{trace} }, $line if @{ $entry->{trace} } < 200;
            next;
        }
        count($entry) if $entry;
        $dated ||= defined $time;
        $undated++ if !defined $time;
        if (defined $time) {
            $earliest = $time if !defined $earliest || $time < $earliest;
            $latest   = $time if !defined $latest   || $time > $latest;
        }
        $entry = { line => $line, text => $rest // $line, time => $time, place => "$name:$number", file => $name, trace => [] };
    }
    count($entry) if $entry;
    close $log or $path eq '-' or fail("$path cannot be read to its end; is it a valid .gz file?");
}

sub count {
    my $entry = shift;
    my $time = $entry->{time};
    return if defined $limit{since} && (!defined $time || $time < $limit{since});
    return if defined $limit{until} && (!defined $time || $time > $limit{until});
    my ($rank, $message) = classify($entry);
    return if $grep && $entry->{line} !~ $grep && !grep { $_ =~ $grep } @{ $entry->{trace} };
    if ($rank < $least) { $hidden{$rank}++; return }
    push @times, $time if defined $time;
    my $cause = cause_of($entry->{trace});
    my $key = substr normal_form($message), 0, 300;
    $key .= "\x1f" . normal_form($cause) if defined $cause;
    my $group = $groups{$key} //= { count => 0, form => normal_form($message), sample => $entry, cause => $cause, files => {} };
    $group->{count}++;
    $group->{files}{ $entry->{file} }++;
    return if !defined $time;
    if (!defined $group->{first} || $time < $group->{first}) { @$group{qw(first sample)} = ($time, $entry) }
    $group->{last} = $time if !defined $group->{last} || $time > $group->{last};
}

# How bad a line is (2 error, 1 warning, 0 else), and its message without time and level.
sub classify {
    my $entry = shift;
    my $line = $entry->{line};
    if ($line =~ /^\s*\{.*\}\s*$/) {
        my ($level) = $line =~ /"(?:level|severity|lvl|log\.level|levelname)"\s*:\s*"?(\w+)/i;
        my ($message) = $line =~ /"(?:msg|message|event|error)"\s*:\s*"((?:[^"\\]|\\.)*)"/i;
        $message = $line if !defined $message;
        $message =~ s/\\(["\\\/])/$1/g;
        $message =~ s/\\[nt]/ /g;
        return (rank_of($level // ''), $message);
    }
    my $text = $entry->{text};
    if ($line =~ /"[A-Z]+ (\S+)[^"]*" (\d{3}) /) {
        my ($target, $status) = ($1, $2);
        $target =~ s/\?.*//;
        return ($status >= 500 ? 2 : $status >= 400 ? 1 : 0, "HTTP $status $target");
    }
    return ({ E => 2, F => 2, W => 1, I => 0 }->{$1}, $text =~ s/^\S+\s+\S+\]\s*//r) if $line =~ /^([EWFI])\d{4} \d\d:/;
    if ($line =~ /\b(?:level|lvl|severity)=["']?(\w+)/i) {
        my $level = $1;
        my ($message) = $line =~ /\b(?:msg|message|err|error)="((?:[^"\\]|\\.)*)"/i;
        return (rank_of($level), $message // $text);
    }
    # A level stands near the beginning; the word "error" later in a sentence is none.
    if (substr($text, 0, 80) =~ /(?<![\w-])\[?<?(EMERG(?:ENCY)?|ALERT|CRIT(?:ICAL)?|FATAL|PANIC|SEVERE|ERROR|ERR|WARN(?:ING)?|NOTICE|INFO|DEBUG|TRACE|FINE)\b>?\]?:?\s*/
        || substr($text, 0, 40) =~ /\[(emerg|alert|crit|error|warn|notice|info|debug)\]\s*/) {
        my ($level, $message) = ($1, substr $text, $+[0]);
        return (rank_of($level), $message ne '' ? $message : $text);
    }
    my $bad = $text =~ /\b(?:error|exception|fatal|panic|segfault|traceback|failed|failure|out of memory|oom-kill)/i;
    return ($bad ? 2 : $text =~ /\b(?:warning|deprecated|timed? ?out|retrying)\b/i ? 1 : 0, $text);
}

sub rank_of {
    my $level = lc shift;
    # The numbers are those of pino and bunyan.
    return $level >= 50 ? 2 : $level >= 40 ? 1 : 0 if $level =~ /^\d+$/;
    return 2 if $level =~ /^(?:emerg|alert|crit|fatal|panic|severe|err)/;
    return 1 if $level =~ /^warn/;
    return 0;
}

# What two lines of one cause have in common: everything that varies is replaced.
sub normal_form {
    my $text = shift;
    for ($text) {
        s/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/<uuid>/gi;
        s/[\w.+-]+@[\w-]+\.[\w.]+/<mail>/g;
        s/\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b/<ip>/g;
        s/\b0x[0-9a-f]+\b/<hex>/gi;
        s/\b(?=[0-9a-f]*\d)(?=\d*[a-f])[0-9a-f]{8,}\b/<hex>/gi;
        s/"[^"]{1,200}"|'[^']{1,200}'/<text>/g;
        s/\d+/<n>/g;
        s/(?:<n>[.,:]?)+(?=<n>)//g;
        s/\s+/ /g;
        s/^ | $//g;
    }
    return $text;
}

# The line of a stack trace that names the cause: the last "Caused by", or the last line of a Python traceback.
sub cause_of {
    my $trace = shift;
    my ($caused) = grep { /^\s*Caused by/ } reverse @$trace;
    return $caused =~ s/^\s+//r if defined $caused;
    return $trace->[-1] if @$trace && $trace->[-1] =~ /^[A-Za-z_][\w.]*(?:Error|Exception|Warning|Interrupt|Exit)\b/;
    return undef;
}

sub report {
    my $span = defined $earliest ? loglib::show_time($earliest) . ' to ' . loglib::show_time($latest) . ' UTC' : 'no times found';
    printf "%s, %s, %s\n", amount(scalar @ARGV, 'file'), amount($lines, 'line'), $span;
    printf "%s without a time%s\n", amount($undated, 'line'), %limit ? ', left out' : '' if $undated && defined $earliest;
    my @groups = $option{sort} eq 'first'
        ? sort { ($a->{first} // 9e18) <=> ($b->{first} // 9e18) || $b->{count} <=> $a->{count} } values %groups
        : sort { $b->{count} <=> $a->{count} || ($a->{first} // 0) <=> ($b->{first} // 0) || $a->{form} cmp $b->{form} } values %groups;
    my $total = 0;
    $total += $_->{count} for @groups;
    my $noun = { error => 'error', warn => 'error and warning', all => 'entry' }->{ $option{level} };
    my $found = $option{level} eq 'all' ? ($total == 1 ? '1 entry' : loglib::thousands($total) . ' entries')
        : $option{level} eq 'warn' ? loglib::thousands($total) . ' errors and warnings' : amount($total, $noun);
    print "$found in ", amount(scalar @groups, 'group');
    print '; ', amount($hidden{1}, 'warning'), ' more with --level warn' if $hidden{1};
    print "\n";

    my $rank = 0;
    for my $group (splice @groups, 0, $option{top}) {
        my $sample = $group->{sample};
        printf "\n#%d  %sx  %s  %s\n", ++$rank, loglib::thousands($group->{count}), span_of($group), join(', ', sort keys %{ $group->{files} });
        print '    ', cut($group->{form}, 200), "\n" if $group->{count} > 1;
        print "    $sample->{place}  ", cut($sample->{line}, 300), "\n";
        my $trace = $sample->{trace};
        next if !@$trace;
        my $point = $group->{cause} // $trace->[0];
        print '    trace of ', amount(scalar @$trace, 'line'), ': ', cut($point =~ s/^\s+//r, 200), "\n";
    }
    print "\n", amount(scalar @groups, 'smaller group'), " not shown (--top)\n" if @groups;
    histogram() if @times > 1;
}

sub span_of {
    my $group = shift;
    return 'no time' if !defined $group->{first};
    my $first = loglib::show_time($group->{first});
    return $first if $group->{count} == 1;
    my $same_day = loglib::show_time($group->{last}, '%F') eq loglib::show_time($group->{first}, '%F');
    return "$first to " . loglib::show_time($group->{last}, $same_day ? '%T' : '%F %T');
}

sub histogram {
    my ($from, $to) = (min(@times), max(@times));
    my ($step) = grep { ($to - $from) / $_ <= 24 } 1, 5, 10, 60, 300, 600, 1800, 3600, 10800, 21600, 86400, 604800, 2592000, 31536000;
    return if !defined $step;
    my %count;
    $count{ int($_ / $step) }++ for @times;
    my $largest = max(values %count);
    my $name = $step < 60 ? "$step s" : $step < 3600 ? $step / 60 . ' min' : $step < 86400 ? $step / 3600 . ' h' : $step / 86400 . ' d';
    print "\nper $name (UTC)\n";
    for my $slot (int($from / $step) .. int($to / $step)) {
        my $count = $count{$slot} // 0;
        my $bar = "\x{2588}" x int(0.999 + 30 * $count / $largest);
        print '  ', loglib::show_time($slot * $step, $step < 60 ? '%T' : $step < 86400 ? '%m-%d %H:%M' : '%F'), "  $bar $count\n" =~ s/  +/ /gr;
    }
}

sub amount { my ($count, $noun) = @_; return loglib::thousands($count) . " $noun" . ($count == 1 ? '' : 's') }

sub cut { my ($text, $length) = @_; return length $text > $length ? substr($text, 0, $length - 1) . "\x{2026}" : $text }

sub usage { print STDERR "triage.pl: $_[0]; see triage.pl --help\n"; exit 2 }

sub fail { print STDERR "triage.pl: $_[0]\n"; exit 1 }
